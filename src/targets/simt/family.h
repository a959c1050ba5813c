#pragma once

#include "targets/family.h"

namespace kdl::simt {

/// Machines whose cores are workgroups of GPU threads that all run one kernel, programmed with OpenCL or
/// CUDA.
extern const targets::Family kFamily;

}  // namespace kdl::simt
