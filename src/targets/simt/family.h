#pragma once

#include "targets/family.h"

namespace kdl::simt {

/// Machines whose cores are teams of workers that run one code: GPUs, by OpenCL or CUDA.
extern const targets::Family kFamily;

}  // namespace kdl::simt
