#pragma once

#include "passes/groups/combine_slots.h"
#include "passes/ranks/rank_ops.h"

namespace kdl::passes {

// Which partial results of segments ranks send to each other. The segments are distributed over all ranks, in balanced parts. A
// rank itself combines the pairs of the tree (groups/combine_slots.h) whose segments it all owns. What is left are its
// *subtotals*: at most two for each level of the tree. Only these are sent.

/// Returns whether the rank that owns the segments in `owned`, of `segments` ones, combines a pair.
Value* IsCombinedByOwner(ir::Builder& b, const SlotPair& pair, Value* segments,
                         const PartValues& owned);

/// Returns whether the owner of the right segment of a pair combines it, if there are so many ranks.
Value* IsCombinedByOwner(ir::Builder& b, const SlotPair& pair, Value* segments, Value* ranks);

/// Returns whether a segment has a subtotal after the owners have combined their pairs.
Value* HasSubtotal(ir::Builder& b, Value* segment, Value* segments, Value* ranks);

}  // namespace kdl::passes
