#pragma once

#include "proofs/terms.h"

namespace kdl::proofs {

// Proofs that need no sets, for accesses whose indices are exactly the ranges of the loops, as in most
// kernels. They only compare whether values and sizes are the same. If they fail, the property may still be
// true.

/// Returns whether a range covers a whole dimension, whatever its axis says.
bool IsWhole(const ir::Value* range, Size dim, Terms& terms);

/// Returns whether a single spmd at the top of the kernel contains all accesses, and each of its binders is
/// used at the same dimension in all of them: then no two blocks access the same element.
bool IsDistributedPlainly(const ir::Value* memory);

/// Returns whether each axis of the access is an index by itself: then no two of its points are the same
/// element.
bool IsOncePlainly(const AccessView& view);

/// Returns whether some store, in loops over whole dimensions only, has all of their variables as its
/// indices: then it writes the whole memory.
bool IsWrittenPlainly(const ir::Value* memory, Terms& terms);

}  // namespace kdl::proofs
