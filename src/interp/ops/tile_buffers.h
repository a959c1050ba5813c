#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunTileBuffer(Core& core, Activation& here, const Instruction& instruction);
void RunLoadTile(Core& core, Activation& here, const Instruction& instruction);
void RunStoreTile(Core& core, Activation& here, const Instruction& instruction);
void RunMove(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
