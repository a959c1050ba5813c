#pragma once

#include "interp/core.h"

namespace kdl::interp {

void StartStage(Core& core, Activation& here, const Instruction& instruction);
void YieldStage(Core& core, Frame& frame, const Instruction& yield);

}  // namespace kdl::interp
