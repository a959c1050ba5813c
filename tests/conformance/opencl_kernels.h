// The suite's kernels for OpenCL devices; not those of workspace and its slices.
#pragma once

#include "kdl/kernel_abi.h"

namespace kdl::conformance {

// Ended by null; kind "opencl".
const kdl_image* const* OpenclImages();

}  // namespace kdl::conformance
