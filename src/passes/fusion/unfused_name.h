#pragma once

#include <string>
#include <string_view>

namespace kdl::passes {

/// Returns the name of the copy of a program whose launches are not fused. The reference interpreter runs the copy.
inline std::string UnfusedName(std::string_view program) {
  return std::string(program) + ".unfused";
}

}  // namespace kdl::passes
