#include "passes/ranks/segment_tree.h"

namespace kdl::passes {

namespace {

/// Returns the segments of the rank that owns this one, as `kdl::ranks::Sharding` computes them. The numbers of segments are
/// small, so that products with the number of ranks do not overflow.
PartValues SegmentsOfOwner(ir::Builder& b, Value* segment, Value* segments, Value* ranks) {
  Value* one = b.I64(1);
  Value* owner = b.Div(b.Sub(b.Mul(b.Add(segment, one), ranks), one), segments);
  auto begin = [&](Value* rank) { return b.Div(b.Mul(rank, segments), ranks); };
  return {begin(owner), begin(b.Add(owner, one))};
}

}  // namespace

Value* IsCombinedByOwner(ir::Builder& b, const SlotPair& pair, Value* segments,
                         const PartValues& owned) {
  Value* begins = b.Ge(pair.left, owned.first);
  Value* is_last = b.Eq(owned.end, segments);
  Value* ends = b.Le(b.Add(pair.right, pair.width), owned.end);
  return b.And(begins, b.Or(is_last, ends));
}

Value* IsCombinedByOwner(ir::Builder& b, const SlotPair& pair, Value* segments, Value* ranks) {
  return IsCombinedByOwner(b, pair, segments, SegmentsOfOwner(b, pair.right, segments, ranks));
}

Value* HasSubtotal(ir::Builder& b, Value* segment, Value* segments, Value* ranks) {
  // Below the level at which it is the right one of a pair, a segment is the left one, so its subtree is as wide as its lowest bit.
  Value* width = b.And(segment, b.Sub(b.I64(0), segment));
  SlotPair pair{b.Sub(segment, width), segment, width};
  Value* is_first = b.Eq(segment, b.I64(0));
  Value* is_combined = IsCombinedByOwner(b, pair, segments, ranks);
  return b.Or(is_first, b.Eq(is_combined, b.Bool(false)));
}

}  // namespace kdl::passes
