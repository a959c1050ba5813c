#pragma once

#include "interp/core.h"

namespace kdl::interp {

void StartCombine(Core& core, Activation& here, const Instruction& instruction);
void YieldCombine(Core& core, Frame& frame, const Instruction& yield);
void StartScanInLoop(Core& core, Activation& here, const Instruction& instruction);
void YieldScanInLoop(Core& core, Frame& frame, const Instruction& yield);

}  // namespace kdl::interp
