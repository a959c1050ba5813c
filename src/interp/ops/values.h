#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunNumber(Core& core, Activation& here, const Instruction& instruction);
void RunScalarElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunTileElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunBound(Core& core, Activation& here, const Instruction& instruction);
void RunBlkStart(Core& core, Activation& here, const Instruction& instruction);
void RunBlkSize(Core& core, Activation& here, const Instruction& instruction);
void RunBlkIndex(Core& core, Activation& here, const Instruction& instruction);
void RunMakeBlk(Core& core, Activation& here, const Instruction& instruction);
void RunIota(Core& core, Activation& here, const Instruction& instruction);
void RunElement(Core& core, Activation& here, const Instruction& instruction);
void RunCoreId(Core& core, Activation& here, const Instruction& instruction);
void RunCoreNum(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
