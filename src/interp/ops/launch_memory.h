#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunLaunchTensor(Core& core, Activation& here, const Instruction& instruction);
void RunSync(Core& core, Activation& here, const Instruction& instruction);
void RunBarrier(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
