#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunHome(Core& core, Activation& here, const Instruction& instruction);
void RunGet(Core& core, Activation& here, const Instruction& instruction);
void RunPut(Core& core, Activation& here, const Instruction& instruction);
void RunMove(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
