#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunRanks(Core& core, Activation& here, const Instruction& instruction);
void RunOwned(Core& core, Activation& here, const Instruction& instruction);
void RunOwnedBlocks(Core& core, Activation& here, const Instruction& instruction);
void RunOwnedBlock(Core& core, Activation& here, const Instruction& instruction);
void RunRankMemory(Core& core, Activation& here, const Instruction& instruction);
void RunFetch(Core& core, Activation& here, const Instruction& instruction);
void RunFinishFetches(Core& core, Activation& here, const Instruction& instruction);
void RunRewritten(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
