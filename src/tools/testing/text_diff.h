#pragma once

#include <string>
#include <string_view>

namespace kdl::tools {

/// Returns the unified diff of two texts with three lines of context. Returns an empty string if
/// the texts are equal.
std::string UnifiedDiff(std::string_view before, std::string_view after,
                        std::string_view before_name, std::string_view after_name);

}  // namespace kdl::tools
