#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunNumber(Core& core, Activation& here, const Instruction& instruction);
void RunScalarElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunTileElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunBound(Core& core, Activation& here, const Instruction& instruction);
void RunBlockStart(Core& core, Activation& here, const Instruction& instruction);
void RunBlockSize(Core& core, Activation& here, const Instruction& instruction);
void RunBlockIndex(Core& core, Activation& here, const Instruction& instruction);
void RunMakeBlock(Core& core, Activation& here, const Instruction& instruction);
void RunIota(Core& core, Activation& here, const Instruction& instruction);
void RunElement(Core& core, Activation& here, const Instruction& instruction);
void RunCoreId(Core& core, Activation& here, const Instruction& instruction);
void RunCoreNum(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
