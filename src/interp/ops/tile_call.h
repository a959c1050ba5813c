#pragma once

#include "interp/core.h"

namespace kdl::interp {

/// Returns whether the call passes blocks or pipes to the fn.
bool IsTileCall(const ir::Op& call);
void StartTileCall(Core& core, Activation& here, const Instruction& call);
void ReturnToTileCall(Core& core, Frame& frame, const Instruction& return_op);

}  // namespace kdl::interp
