#pragma once

#include <cstdint>

#include "ir/op.h"

namespace kdl::ir {

// Contracts compute with f64 values, and keep a bound A(v) for each value v. If a kernel does the same
// computation in another precision, its rounding errors are in the order of A(v) times the epsilon of this
// precision. The last column of ops.def says how the bound of the result of each op is computed.

/// Computes the bound of an op's result. `values` are the result and then the operands. `bounds` are the
/// bounds of the operands, or null if all of them are 0. All numbers are bit patterns of f64.
using BoundFn = double (*)(const uint64_t* values, const uint64_t* bounds);

/// Returns the function that computes the bound for an op. Returns null if the op needs no bound, because its
/// result is exact or is not a float.
BoundFn FindBound(OpKind kind);

}  // namespace kdl::ir
