#pragma once

#include "ir/op.h"

namespace kdl::codegen {

/// Returns whether the operand of a `to_bits` op is finite whenever the result matters. Everything computed
/// from the bits must pass through selects whose conditions bound a number, and these bounds must imply that
/// the operand is finite. If so, it does not matter which bits represent a NaN.
bool CountsOnlyFinite(const ir::Op* to_bits);

}  // namespace kdl::codegen
