#pragma once

#include <functional>
#include <vector>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// Folds in lanes that go over the same axes together: one walk, 64 accumulators each.
struct LaneWalk {
  std::vector<Accumulation> folds;
  int64_t bytes = 0;   ///< of the widest scalar that goes through a vector
  Position& position;  ///< of the element, and of the piece that is walked
  /// The result's axes, and where each fold's values go: tile buffers that have those axes in one order.
  ir::AxisList kept = {};
  std::vector<TileBuffer> tile_buffers = {};
  /// What is done at the start of a row of the last axis; empty: nothing.
  std::function<void()> row = {};
  /// The terms of each fold for the elements of the piece at the position, `before` elements into its turn.
  std::function<std::vector<Values>(const Chunk&, int64_t before)> terms = {};
  /// Whether several rows are walked together, a bool; null: never.
  ir::Value* together = nullptr;
};

/// The folded values of the element at the position, one for each fold.
Values ReduceInLoopLanes(Expander& e, const LaneWalk& walk);

/// Folds for all elements over the axes that are kept, and stores what is folded.
void FoldAllInLanes(Expander& e, const LaneWalk& walk);

}  // namespace kdl::cpu
