#pragma once

#include "interp/core.h"

namespace kdl::interp {

void RunSlidingWindow(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
