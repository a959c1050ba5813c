#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/groups/group_blocks.h"

namespace kdl::passes {

/// The location of an access: its `access` attribute and its index operands.
struct Place {
  ir::Access access;
  std::vector<ir::Value*> index;
};

/// Loads or stores the elements at a place, which must be in bounds. A stored value is converted to the tensor's element type.
ir::Value* LoadAt(ir::Builder& builder, ir::Value* tensor, const Place& place,
                  const ir::AxisList& axes);
void StoreAt(ir::Builder& builder, ir::Value* value, ir::Value* tensor, const Place& place);

/// The partial results of an spmd's groups for one tensor, and the memory in which each group keeps them
/// until they are combined.
///
/// If the index of a dimension is one loop variable that covers the whole dimension, the dimension is split
/// into the blocks of that variable. The first consecutive loop variables of this kind form tiles, which
/// contain the other dimensions completely. Blocks are numbered
///
///   (round * tiles + tile) * depth + rest
///
/// so a group visits one tile after another; each visit is a step. After the last tile, the next round begins
/// with the first tile again. The group keeps one partial result (part) for each tile that it visits. If
/// there is only one round, a group can share only the tiles of its first and last step with other groups.
class GroupParts {
 public:
  /// `updates` must be all updates of the tensor in the spmd. If `at_once` is set, a group may reduce a tile
  /// into the tensor as soon as the tile is complete, provided that no other group visits the tile.
  GroupParts(ir::Function& kernel, const ir::Op* spmd, const std::vector<ir::UpdateOp>& updates,
             SizeTable& sizes, bool at_once);

  ir::Value* tensor() const { return tensor_; }
  ir::UpdateKind how() const { return how_; }
  ir::Value* memory() const { return memory_; }
  /// Returns the accumulator type, in which values are reduced.
  Scalar acc() const;
  uint64_t identity() const;

  bool has_tiles() const { return first_ < last_; }
  size_t first() const { return first_; }
  size_t last() const { return last_; }
  /// Returns whether groups reduce the tiles that only they visit directly into the tensor. In this case,
  /// they keep partial results only for other tiles.
  bool at_once() const { return at_once_; }
  const std::vector<std::optional<size_t>>& tiled() const { return tiled_; }

  ir::Value* rounds() const { return rounds_; }
  ir::Value* tiles() const { return tiles_; }
  ir::Value* depth() const { return depth_; }

  /// Creates the memory of the partial results and the values of `rounds()`, `tiles()` and `depth()`, at the
  /// builder's insertion point.
  void Make(ir::Builder& builder, GroupBlocks& blocks);
  /// Makes the elements of `memory` the partial results, instead of calling Make. `memory` has a whole tensor for each group, so
  /// there are no tiles.
  void UseMemory(ir::Value* memory);
  /// Returns the index (slot) of the partial result for `tile` in a group whose first step is `first_step`.
  /// Instead of the tile, the number of a step may be passed.
  ir::Value* Slot(ir::Builder& builder, const GroupBlocks& blocks, ir::Value* group,
                  ir::Value* first_step, ir::Value* tile) const;
  /// Returns the place in the partial result at `slot` that corresponds to `place` of the tensor. `binders`
  /// are the values of the spmd's loop variables.
  Place InPart(ir::Builder& builder, const Place& place, ir::Value* slot,
               const std::vector<ir::Value*>& binders) const;

 private:
  std::vector<Size> PartDims(SizeTable& sizes) const;
  Size Slots(SizeTable& sizes, Size groups) const;

  ir::Function& kernel_;
  const ir::Op* spmd_;
  ir::Value* tensor_;
  ir::UpdateKind how_;
  bool at_once_;
  /// For each dimension, the loop variable that splits it.
  std::vector<std::optional<size_t>> tiled_;
  size_t first_ = 0;  ///< the first of the loop variables that form tiles
  size_t last_ = 0;   ///< one past the last of the loop variables that form tiles
  Size tiles_size_ = nullptr;
  /// The maximum number of steps of a group, if groups share all of their tiles.
  Size most_steps_ = nullptr;
  ir::Value* memory_ = nullptr;
  ir::Value* rounds_ = nullptr;
  ir::Value* tiles_ = nullptr;
  ir::Value* depth_ = nullptr;
  ir::Value* steps_ = nullptr;  ///< `most_steps_` as a value, if groups share all of their tiles
};

/// Returns whether other cores may still be accessing the tensor when the spmd begins, because something has
/// accessed it since the last barrier.
bool IsOpenBefore(const ir::Function& kernel, const ir::Op* spmd, const ir::Value* tensor);

}  // namespace kdl::passes
