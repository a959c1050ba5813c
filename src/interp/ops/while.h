#pragma once

#include "interp/core.h"

namespace kdl::interp {

void StartWhile(Core& core, Activation& here, const Instruction& instruction);
void YieldWhile(Core& core, Frame& frame, const Instruction& yield);

}  // namespace kdl::interp
