#pragma once

#include "ir/op.h"

namespace kdl::codegen {

/// Returns whether it does not matter which bits represent a NaN. That is the case if the operand of the `to_bits` op is
/// finite whenever the result matters: everything computed from the bits must pass through selects whose conditions
/// bound a number, and these bounds must imply that the operand is finite. It is also the case if the bits are only
/// compared with those of numbers.
bool CountsOnlyFinite(const ir::Op* to_bits);

}  // namespace kdl::codegen
