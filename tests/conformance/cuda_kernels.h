// The suite's kernels for CUDA devices; not those of workspace and its slices.
#pragma once

#include "kdl/kernel_abi.h"

namespace kdl::conformance {

// Ended by null; kind "cuda".
const kdl_image* const* CudaImages();

}  // namespace kdl::conformance
