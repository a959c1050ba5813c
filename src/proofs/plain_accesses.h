#pragma once

#include "proofs/terms.h"

namespace kdl::proofs {

// Proofs that compute no sets, for accesses whose indices are exactly the variables of loops, as in most
// kernels. They only compare values and sizes for equality. If such a proof fails, the property may still be
// true.

/// Returns whether a range is 0 .. `dim`. The range may have any axis.
bool IsWhole(const ir::Value* range, Size dim, Terms& terms);

/// Returns whether a single spmd at the top level of the kernel contains all accesses, and each of its loop
/// variables indexes the same dimension in all of them. If so, no two blocks access the same element.
bool IsDistributedPlainly(const ir::Value* memory);

/// Returns whether each axis of the access is the whole index of some dimension. If so, no two points of the
/// access touch the same element.
bool IsOncePlainly(const AccessView& view);

/// Returns whether some store is nested only in loops over whole dimensions and is indexed by all of their
/// variables. If so, it writes the whole memory.
bool IsWrittenPlainly(const ir::Value* memory, Terms& terms);

}  // namespace kdl::proofs
