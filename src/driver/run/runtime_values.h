#pragma once

#include <cstdint>

#include "kdl/runtime.h"
#include "support/result.h"
#include "support/scalar.h"

namespace kdl::driver {

/// Returns the runtime's code for an element type, such as KDL_F32.
uint8_t ElementCode(Scalar scalar);
Scalar ElementScalar(uint8_t code);

/// Converts an error of the runtime to a status and takes ownership of the error. Null means
/// success. The error's code determines the kind of the failure: wrong arguments and traps are user
/// failures, others are failures of the environment. A fault in generated code is an internal error
/// and ends the process.
Status StatusOf(kdl_error* error);

}  // namespace kdl::driver
