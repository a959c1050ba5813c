#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::driver {

/// `H + 2*P`: a size as the source has it.
std::string SourceText(Size size);

/// `f32[M, K]`, `f32`: a parameter's type as the source has it.
std::string ParameterType(const ir::Param& param);

}  // namespace kdl::driver
