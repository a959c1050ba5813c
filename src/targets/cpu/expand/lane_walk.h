#pragma once

#include <functional>
#include <vector>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// Reductions in 64-lane order over the same axes. They are computed together, with 64 accumulators each.
struct LaneWalk {
  std::vector<Accumulation> folds;
  int64_t bytes = 0;   ///< the size of the widest scalar in a vector
  Position& position;  ///< the position of the element and of the current chunk
  /// The axes of the results.
  ir::AxisList kept = {};
  /// The buffers for the results of the reductions, which have the axes `kept` in the same order.
  std::vector<TileBuffer> tile_buffers = {};
  /// Called at the start of each row of the last axis; may be empty.
  std::function<void()> row = {};
  /// Returns the terms of each reduction for the chunk at the position. `before` is the number of elements
  /// that the current iteration processes before this chunk.
  std::function<std::vector<Values>(const Chunk&, int64_t before)> terms = {};
  /// Returns a bool that says whether a faster way to compute the terms of the row may be used, or null if there
  /// is none; `set_faster` then chooses the way. Both may be empty.
  std::function<ir::Value*()> may_be_faster = {};
  std::function<void(bool)> set_faster = {};
  /// Returns the part of the row in which the terms may be computed in a simpler way, because no neighbor of an element
  /// is missing; `set_inside` then chooses the way. Both may be empty. The part is from 0 to 0 if the row has none.
  std::function<Window()> inside = {};
  std::function<void(bool)> set_inside = {};
  /// Whether the terms may be computed again, because that takes little time and has no effect.
  bool may_repeat = false;
  /// A bool that says whether several rows are processed together; null if they never are.
  ir::Value* together = nullptr;
};

}  // namespace kdl::cpu
