// The suite's kernels for OpenCL devices, except the kernels that use the workspace or its slices.
#pragma once

#include "kdl/kernel_abi.h"

namespace kdl::conformance {

// Returns a null-terminated list of images of kind "opencl".
const kdl_image* const* OpenclImages();

}  // namespace kdl::conformance
