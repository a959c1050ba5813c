#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunAlignGap(Core& core, Activation& here, const Instruction& instruction);
void RunVectorLoad(Core& core, Activation& here, const Instruction& instruction);
void RunVectorStore(Core& core, Activation& here, const Instruction& instruction);
void RunVectorBufferLoad(Core& core, Activation& here, const Instruction& instruction);
void RunVectorBufferStore(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
