#pragma once

#include <string_view>

#include "sema/model/entity.h"

namespace kdl::sema {

/// The library's fn for a builtin function that is the value of a function parameter has this suffix.
constexpr std::string_view kValueSuffix = "_value";

/// Returns the name of a fn or, for `exp_value` of the library, that of the builtin function.
std::string_view WrittenName(const Entity& function);

}  // namespace kdl::sema
