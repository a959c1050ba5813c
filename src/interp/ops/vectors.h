#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunVectorElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunSplat(Core& core, Activation& here, const Instruction& instruction);
void RunLaneMask(Core& core, Activation& here, const Instruction& instruction);
void RunLaneNumbers(Core& core, Activation& here, const Instruction& instruction);
void RunCountLanes(Core& core, Activation& here, const Instruction& instruction);
void RunCompress(Core& core, Activation& here, const Instruction& instruction);
void RunZip(Core& core, Activation& here, const Instruction& instruction);
void RunPick(Core& core, Activation& here, const Instruction& instruction);
void RunVectorMma(Core& core, Activation& here, const Instruction& instruction);
void RunHalf(Core& core, Activation& here, const Instruction& instruction);
void RunTranspose(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
