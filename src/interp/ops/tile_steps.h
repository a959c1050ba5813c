#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunTileSteps(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
