#pragma once

#include "ir/op.h"

namespace kdl::codegen {

/// Returns whether the operand of this to_bits is finite in all cases where the result matters. Everything
/// computed from the bits must pass through selects whose conditions bound a number, and these bounds must
/// imply that the operand is finite. Then it does not matter which bits a NaN has.
bool CountsOnlyFinite(const ir::Op* to_bits);

}  // namespace kdl::codegen
