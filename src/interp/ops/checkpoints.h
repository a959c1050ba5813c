#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunRestore(Core& core, Activation& here, const Instruction& instruction);
void RunCheckpoint(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
