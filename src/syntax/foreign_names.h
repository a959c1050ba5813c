#pragma once

#include <string>
#include <string_view>

namespace kdl::syntax {

/// Returns what to write instead of a name of another language, such as `threadIdx`, or an empty string.
std::string HelpForForeign(std::string_view name);

/// Returns the statement to write instead of an atomic function of another language, such as `atomicAdd`, or an empty
/// string.
std::string HelpForAtomic(std::string_view name, std::string_view target, std::string_view value);

/// Returns the type of KDL that a word means if a type is expected: a type of KDL, or one of another language, such as
/// `float` or `unsigned char`. Returns an empty string if it means none.
std::string_view TypeMeant(std::string_view word);

}  // namespace kdl::syntax
