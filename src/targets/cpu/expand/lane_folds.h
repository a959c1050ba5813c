#pragma once

#include "targets/cpu/expand/lane_walk.h"

namespace kdl::cpu {

/// Returns the reduced values of the element at the position, one for each reduction.
Values ReduceInLoopLanes(Expander& e, const LaneWalk& walk);

/// Computes the reductions for each element of the axes in `kept`, and stores the results.
void FoldAllInLanes(Expander& e, const LaneWalk& walk);

}  // namespace kdl::cpu
