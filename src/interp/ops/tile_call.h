#pragma once

#include "interp/core.h"

namespace kdl::interp {

/// Whether it is of a fn that is given blocks or pipes.
bool IsTileCall(const ir::Op& call);
void StartTileCall(Core& core, Activation& here, const Instruction& call);
void ReturnToTileCall(Core& core, Frame& frame, const Instruction& return_op);

}  // namespace kdl::interp
