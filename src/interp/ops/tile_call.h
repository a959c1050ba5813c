#pragma once

#include "interp/core.h"

namespace kdl::interp {

/// Returns whether the call passes blocks or pipes to the fn.
bool IsTileCall(const ir::Op& call);
void StartTileCall(Core& core, Activation& here, const Instruction& call);
/// Moves to the next point that is not masked off, and passes the arguments to the fn. Returns false if there is no such
/// point.
bool BeginPoint(Activation& here, const Instruction& call, PointState& state);
void ReturnToTileCall(Core& core, Frame& frame, const Instruction& return_op);

}  // namespace kdl::interp
