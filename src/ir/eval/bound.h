#pragma once

#include <cstdint>

#include "ir/op.h"

namespace kdl::ir {

// A(v) is the bound that a contract computes for each f64 value v: how far, in units of a rounding error, a
// computation of v in another precision may be off. What each op adds to it is a column of ops.def.

/// `values` are the result, then the operands; `bounds` are those of the operands, or null if all are 0. All
/// are bit patterns of f64.
using BoundFn = double (*)(const uint64_t* values, const uint64_t* bounds);

/// Returns the rule of an op, or null if it has none because its result is exact or is not a float.
BoundFn FindBound(OpKind kind);

}  // namespace kdl::ir
