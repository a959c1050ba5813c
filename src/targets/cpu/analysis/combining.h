#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// For a reduction or scan with a region, returns the axes of its result, outermost first, without the
/// scanned axis.
ir::AxisList KeptAxes(const KernelShape& kernel, const ir::Op* op);

/// Whether the region of a reduction or scan can run on vectors, because nothing in it branches or may trap.
bool CombinesVectors(const ir::Op* op);

/// Returns the number of elements along the last of the kept axes that the region processes at once; 1 if the
/// region runs on scalars.
int64_t CombinedLanes(const KernelShape& kernel, const ir::Op* op);

}  // namespace kdl::cpu
