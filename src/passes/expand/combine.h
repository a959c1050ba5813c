#pragma once

#include "passes/expand/accumulate.h"

namespace kdl::passes {

/// Whether the region of a fold or scan runs on vectors: nothing in it branches or may trap.
bool CombinesVectors(const ir::Op* op);

/// The widest scalar that goes through a vector of such a region.
int64_t CombinedBytes(const ir::Op* op);

/// A fold or scan along an ascending chain, or in lanes.
void ExpandCombine(Expander& e, const ir::Op* op);

}  // namespace kdl::passes
