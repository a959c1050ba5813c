#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// The axes of what a fold or scan by a region gives along which nothing is folded, outermost first.
ir::AxisList KeptAxes(const KernelShape& kernel, const ir::Op* op);

/// How many elements of the last kept axis its region takes at once; 1: it runs on scalars.
int64_t CombinedLanes(const KernelShape& kernel, const ir::Op* op);

}  // namespace kdl::cpu
