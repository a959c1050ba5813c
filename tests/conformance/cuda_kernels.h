// The suite's kernels for CUDA devices, except the kernels that use the workspace or its slices.
#pragma once

#include "kdl/kernel_abi.h"

namespace kdl::conformance {

// Returns a null-terminated list of images of kind "cuda".
const kdl_image* const* CudaImages();

}  // namespace kdl::conformance
