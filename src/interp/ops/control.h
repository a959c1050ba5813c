#pragma once

#include "interp/core.h"

namespace kdl::interp {

void StartFor(Core& core, Activation& here, const Instruction& instruction);
void StartSplit(Core& core, Activation& here, const Instruction& instruction);
void StartLoop(Core& core, Activation& here, const Instruction& instruction);
void StartSpmd(Core& core, Activation& here, const Instruction& instruction);
void StartElementwiseLoop(Core& core, Activation& here, const Instruction& instruction);
void YieldLoop(Core& core, Frame& frame, const Instruction& yield);
void YieldSpmd(Core& core, Frame& frame, const Instruction& yield);
void YieldElementwiseLoop(Core& core, Frame& frame, const Instruction& yield);
void YieldIf(Core& core, Frame& frame, const Instruction& yield);
void StartIf(Core& core, Activation& here, const Instruction& instruction);
void StartCall(Core& core, Activation& here, const Instruction& instruction);
/// The innermost frame is that of a call of a fn. Begins the call for the next element. Returns false if there is none.
bool BeginsNextElement(Core& core);
void RunYield(Core& core, Activation& here, const Instruction& instruction);
void RunReturn(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
