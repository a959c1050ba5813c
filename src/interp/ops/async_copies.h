#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunAsyncCopy(Core& core, Activation& here, const Instruction& instruction);
void RunAsyncCopyCommit(Core& core, Activation& here, const Instruction& instruction);
void RunAsyncCopyWait(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
