#pragma once

#include <cstdint>

#include "ir/op.h"

namespace kdl::ir {

// Computes A(v), the bound that a contract keeps for each f64 value v. It says by how many rounding errors a
// computation of v in another precision may differ. A column of ops.def says how each op increases the bound.

/// Computes the bound of an op's result. `values` are the result and then the operands. `bounds` are the
/// bounds of the operands, or null if all of them are 0. All numbers are bit patterns of f64.
using BoundFn = double (*)(const uint64_t* values, const uint64_t* bounds);

/// Returns the function that computes the bound for an op. Returns null if the op needs no bound, because its
/// result is exact or is not a float.
BoundFn FindBound(OpKind kind);

}  // namespace kdl::ir
