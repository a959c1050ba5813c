#pragma once

#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// A block of points of an elementwise loop, with equally many points along two axes. Its first point is at `side`
/// along the side axis and at `last` along the last axis. Only the first `side_points` by `last_points` of its
/// points exist.
struct TransposedBlock {
  ir::Value* side;
  ir::Value* last;
  ir::Value* side_points;
  ir::Value* last_points;
};

/// Loads and stores the elements of accesses that are contiguous along the side axis, but needed as vectors
/// along the last axis. They are transposed in registers.
class TransposedAccesses {
 public:
  /// The maximum number of rows that fit into registers together.
  static constexpr int64_t kMostLanes = 16;

  explicit TransposedAccesses(ElementwiseLoopBody& body, int64_t most_lanes = kMostLanes);

  ir::AxisId SideAxis() const { return body_.axes()[side_]; }
  ir::AxisId LastAxis() const { return body_.axes().back(); }
  /// Returns the number of points of a block along both axes.
  int64_t lanes() const { return lanes_; }
  /// Sets the maximum number of points along the side axis, if it is smaller.
  void LimitPoints(int64_t points) { points_ = points; }
  int64_t points() const { return points_; }
  bool IsNarrow() const { return points_ < lanes_; }

  /// Positions the body at the distances `side` and `last` from the block's first point.
  void MoveTo(const TransposedBlock& block, ir::Value* side, ir::Value* last);
  /// Returns point `i` of the side axis, or the last existing point if there are fewer points. Values that are
  /// the same along the last axis are read without a mask, so the point must exist.
  ir::Value* ExistingPoint(const TransposedBlock& block, int64_t i, bool masked);
  /// Returns the chunk for vector `i` of `vectors`: an empty chunk if there are fewer vectors, otherwise one
  /// with `existing` elements.
  Chunk VectorChunk(ir::Value* vectors, int64_t i, ir::Value* existing, bool masked);
  /// Returns a vector along the last axis for each point of the side axis.
  Values LoadTransposed(const ir::Op* load, const TransposedBlock& block, bool masked);
  /// Transposes vectors along the last axis, one for each point of the side axis, and stores them.
  void StoreTransposed(const ir::Op* store, Values vectors, const TransposedBlock& block,
                       bool masked);

 private:
  int64_t PartLanes(kdl::Scalar scalar) const;

  Expander& e_;
  ElementwiseLoopBody& body_;
  size_t side_;
  int64_t lanes_;
  int64_t points_;
};

}  // namespace kdl::cpu
