#pragma once

#include <optional>
#include <vector>

#include "ir/attr.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// For a reduction or scan with a region, returns the axes of its result, outermost first, without the
/// scanned axis.
ir::AxisList KeptAxes(const KernelShape& kernel, const ir::Op* op);

/// Whether the region of a reduction or scan can run on vectors, because nothing in it branches or may trap.
bool CombinesVectors(const ir::Op* op);

/// Returns the kind of updates that combine like the region of a scan, if that has one accumulator, an integer, and terms
/// may be combined in any order.
std::optional<ir::UpdateKind> UpdateLike(const ir::Op* scan);
/// Returns the scans in an elementwise loop.
std::vector<const ir::Op*> ScansIn(const ir::Op* elementwise);
/// Whether the lanes of a vector along the axis of the scan can be combined in registers.
bool ScansLanes(const ir::Op* scan);

/// Returns the number of elements along the last of the kept axes that the region processes at once; 1 if the
/// region runs on scalars.
int64_t CombinedLanes(const KernelShape& kernel, const ir::Op* op);

}  // namespace kdl::cpu
