#pragma once

#include <functional>
#include <vector>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// Reductions in 64-lane order over the same axes, which are computed together, with 64 accumulators each.
struct LaneWalk {
  std::vector<Accumulation> folds;
  int64_t bytes = 0;   ///< size of the widest scalar in a vector
  Position& position;  ///< position of the element, and of the current chunk
  /// The result's axes, and where each reduction's values go: buffers that have those axes in the same order.
  ir::AxisList kept = {};
  std::vector<TileBuffer> tile_buffers = {};
  /// Called at the start of each row of the last axis; may be empty.
  std::function<void()> row = {};
  /// Returns the terms of each reduction for the chunk at the position, which is `before` elements into its
  /// iteration.
  std::function<std::vector<Values>(const Chunk&, int64_t before)> terms = {};
  /// A bool: whether several rows are processed together. Null: never.
  ir::Value* together = nullptr;
};

/// Returns the reduced values of the element at the position, one for each reduction.
Values ReduceInLoopLanes(Expander& e, const LaneWalk& walk);

/// Reduces for all elements over the kept axes and stores the results.
void FoldAllInLanes(Expander& e, const LaneWalk& walk);

}  // namespace kdl::cpu
