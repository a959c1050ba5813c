#pragma once

#include "proofs/terms.h"

namespace kdl::proofs {

// Proofs without sets, for accesses whose indices are exactly the variables of loops, as in most kernels.
// They only test whether values and sizes are the same. If such a proof fails, the property may still be
// true.

/// Returns whether a range covers a whole dimension, regardless of its axis.
bool IsWhole(const ir::Value* range, Size dim, Terms& terms);

/// Returns whether a single spmd at the top level of the kernel contains all accesses, and each of its loop
/// variables indexes the same dimension in all of them. If so, no two blocks access the same element.
bool IsDistributedPlainly(const ir::Value* memory);

/// Returns whether each axis of the access is an index by itself. If so, no two points of the access touch
/// the same element.
bool IsOncePlainly(const AccessView& view);

/// Returns whether some store is nested only in loops over whole dimensions and is indexed by all of their
/// variables. If so, it writes the whole memory.
bool IsWrittenPlainly(const ir::Value* memory, Terms& terms);

}  // namespace kdl::proofs
