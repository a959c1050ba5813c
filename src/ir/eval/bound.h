#pragma once

#include <cstdint>

#include "ir/op.h"

namespace kdl::ir {

// A(v), the bound that a contract carries besides each f64 value v: how far, in units of a rounding, a computation of v in
// another precision may be off. What each op adds is a column of its row in ops.def.

/// `values`: the result, then the operands; `bounds`: the operands', or null where all are 0. Bit patterns of f64.
using BoundFn = double (*)(const uint64_t* values, const uint64_t* bounds);

/// The rule of an op; null where it has none: its result is exact, or no float.
BoundFn FindBound(OpKind kind);

}  // namespace kdl::ir
