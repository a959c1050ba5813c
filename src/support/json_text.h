#pragma once

#include <string>

namespace kdl {

/// Returns JSON as text. Bytes that are not UTF-8, such as those of a path, become U+FFFD.
template <class Json>
std::string JsonText(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kdl
