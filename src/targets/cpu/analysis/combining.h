#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Returns the axes of the result of a reduction or scan with a region, except for the scanned axis,
/// outermost first.
ir::AxisList KeptAxes(const KernelShape& kernel, const ir::Op* op);

/// Returns the number of elements along the last of these axes that the region processes at once; 1 if the
/// region runs on scalars.
int64_t CombinedLanes(const KernelShape& kernel, const ir::Op* op);

}  // namespace kdl::cpu
