#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunReduce(Core& core, Activation& here, const Instruction& instruction);
void RunContraction(Core& core, Activation& here, const Instruction& instruction);
void RunReduceInLoop(Core& core, Activation& here, const Instruction& instruction);
/// Returns the result of a reduce_in_loop for which there are no points to reduce. `walk` is over the loop's
/// axes that are not reduced, and its current point selects the element of the result.
uint64_t FoldOfNothing(Activation& here, const Instruction& fold, const PointWalk& walk);

}  // namespace kdl::interp
