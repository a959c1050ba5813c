#pragma once

#include <string>
#include <string_view>

namespace kdl::tools {

/// The unified diff of two texts, three lines of context; empty where they are equal.
std::string UnifiedDiff(std::string_view before, std::string_view after,
                        std::string_view before_name, std::string_view after_name);

}  // namespace kdl::tools
