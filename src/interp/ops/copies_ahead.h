#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunCopyAhead(Core& core, Activation& here, const Instruction& instruction);
void RunCloseAhead(Core& core, Activation& here, const Instruction& instruction);
void RunAwaitAhead(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
