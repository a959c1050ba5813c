#pragma once

#include <string_view>
#include <vector>

namespace kdl::syntax {

/// Returns the words of the language, first those that cannot be names.
std::vector<std::string_view> Keywords();

}  // namespace kdl::syntax
