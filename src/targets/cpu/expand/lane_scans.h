#pragma once

#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// Emits an elementwise loop whose scans combine the lanes of vectors along their axis. Returns false and emits nothing
/// if a scan does not combine integers that may be combined in any order, or if memory is not contiguous along the axis.
bool ExpandLaneScans(ElementwiseLoopBody& body);

}  // namespace kdl::cpu
