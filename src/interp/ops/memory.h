#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunScalarLoad(Core& core, Activation& here, const Instruction& instruction);
void RunLoad(Core& core, Activation& here, const Instruction& instruction);
void RunScalarStore(Core& core, Activation& here, const Instruction& instruction);
void RunStore(Core& core, Activation& here, const Instruction& instruction);
void RunUpdate(Core& core, Activation& here, const Instruction& instruction);
void RunCheck(Core& core, Activation& here, const Instruction& instruction);
void RunHint(Core& core, Activation& here, const Instruction& instruction);
void RunBufferNew(Core& core, Activation& here, const Instruction& instruction);
void RunBufferLoad(Core& core, Activation& here, const Instruction& instruction);
void RunBufferStore(Core& core, Activation& here, const Instruction& instruction);
void RunTable(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
