#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunGatesOpen(Core& core, Activation& here, const Instruction& instruction);
void RunGatesClose(Core& core, Activation& here, const Instruction& instruction);
void RunGateArrive(Core& core, Activation& here, const Instruction& instruction);
void RunGateAwait(Core& core, Activation& here, const Instruction& instruction);
void RunCopyBox(Core& core, Activation& here, const Instruction& instruction);
void RunBoxFits(Core& core, Activation& here, const Instruction& instruction);
void RunShowStores(Core& core, Activation& here, const Instruction& instruction);
void RunCloseSteps(Core& core, Activation& here, const Instruction& instruction);
void RunAwaitSteps(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
