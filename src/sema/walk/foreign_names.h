#pragma once

#include <string>
#include <string_view>

namespace kdl::sema {

/// Returns what to write instead of a name of another language, such as `threadIdx`, or an empty string.
std::string HelpForForeign(std::string_view name);

/// Returns the type that a type of another language, such as `float`, means, or an empty string.
std::string_view TypeForForeign(std::string_view name);

}  // namespace kdl::sema
