#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunCopyIn(Core& core, Activation& here, const Instruction& instruction);
void RunCopyOut(Core& core, Activation& here, const Instruction& instruction);
void RunAwaitCopies(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
