#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace kdl::codegen {

/// Returns an operation on two sizes as an expression of C or OpenCL C. `function` returns the name of the
/// language's function for `div`, `rem` (which round down) or `min`.
std::string SizeOperation(SizeKind kind, std::string_view a, std::string_view b,
                          const std::function<std::string(std::string_view name)>& function);

}  // namespace kdl::codegen
