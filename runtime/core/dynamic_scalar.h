// Numbers whose type is known only at run time, as arguments for scalar parameters.
#pragma once

#include <string>

#include "core/error.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// Converts a number to the type of a scalar parameter, and stores its bits in the low bytes of `bits`. Integers
// must be in range. Floats are rounded to the nearest value, integers for float parameters by way of f64. An
// error names the parameter.
Error ConvertNumber(const kdl_dynamic_arg& given, const kdl_param_desc& param, std::uint64_t* bits);

// Returns the text of a scalar of an element type, such as "3", "0.5" or "true".
std::string TextOfScalar(std::uint8_t element, std::uint64_t bits);

}  // namespace kdl::runtime
