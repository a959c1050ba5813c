#pragma once

#include <string_view>

namespace kdl {

/// How deeply the arrays and objects of JSON may be nested. Copies and comparisons of a value need a part of the stack for
/// each level.
constexpr int kDeepestJson = 256;

/// Returns the value of a text from elsewhere. It is *discarded*, as the library calls it, if the text is not JSON, or nested
/// too deeply.
template <class Json>
Json ParseJson(std::string_view text) {
  bool is_too_deep = false;
  auto limit = [&](int depth, typename Json::parse_event_t, Json&) {
    is_too_deep = is_too_deep || depth > kDeepestJson;
    return !is_too_deep;
  };
  Json value = Json::parse(text, limit, false);
  return is_too_deep ? Json(Json::value_t::discarded) : value;
}

}  // namespace kdl
