#pragma once

#include "proofs/terms.h"

namespace kdl::proofs {

// What needs no sets: accesses whose indices are the very ranges that are walked, as those of most kernels are. Everything
// here compares values and sizes for being the same; what is not plain may hold all the same.

/// Whether a range is all of a dimension, whatever its axis says that it walks.
bool IsWhole(const ir::Value* range, Size dim, Terms& terms);

/// Whether one walk at the top of the kernel makes all accesses, each indexed alike by every range that it deals: then no two
/// blocks touch one element.
bool IsDistributedPlainly(const ir::Value* memory);

/// Whether each axis of the access is an index by itself: then no two of its points are one element.
bool IsOncePlainly(const AccessView& view);

/// Whether some store in loops over nothing but whole dimensions has all of these as its indices: then it writes all of it.
bool IsWrittenPlainly(const ir::Value* memory, Terms& terms);

}  // namespace kdl::proofs
