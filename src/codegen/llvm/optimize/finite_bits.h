#pragma once

#include "ir/op.h"

namespace kdl::codegen {

/// Whether the operand of this to_bits is finite wherever the result counts: all that comes of the bits passes through
/// selects whose conditions bound a number, and from those bounds the operand follows. Nobody then sees which bits a NaN
/// has.
bool CountsOnlyFinite(const ir::Op* to_bits);

}  // namespace kdl::codegen
