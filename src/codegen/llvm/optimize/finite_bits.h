#pragma once

#include "ir/op.h"

namespace kdl::codegen {

/// Whether the operand of this to_bits is finite in all cases where the result matters. This is so if
/// everything computed from the bits passes through selects whose conditions bound a number, and these bounds
/// imply that the operand is finite. Then it does not matter which bits a NaN has.
bool CountsOnlyFinite(const ir::Op* to_bits);

}  // namespace kdl::codegen
