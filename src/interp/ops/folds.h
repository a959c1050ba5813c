#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunReduce(Core& core, Activation& here, const Instruction& instruction);
void RunContraction(Core& core, Activation& here, const Instruction& instruction);
void RunReduceInLoop(Core& core, Activation& here, const Instruction& instruction);
/// What a reduce_in_loop gives for an element of its elementwise loop's other axes, the walk's first ones, where no point is folded.
uint64_t FoldOfNothing(Activation& here, const Instruction& fold, const PointWalk& walk);

}  // namespace kdl::interp
