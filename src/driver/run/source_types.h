#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::driver {

/// Returns a size as written in the source, such as `H + 2*P`.
std::string SourceText(Size size);

/// Returns a parameter's type as written in the source, such as `f32[M, K]` or `f32`.
std::string ParameterType(const ir::Param& param);

bool IsTensor(const ir::Param& param);

}  // namespace kdl::driver
