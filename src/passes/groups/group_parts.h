#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/groups/group_blocks.h"

namespace kdl::passes {

/// An access, as attributes and index operands.
struct Place {
  ir::Access access;
  std::vector<ir::Value*> index;
};

/// Loads and stores of the points of a place that is known to lie inside.
ir::Value* LoadAt(ir::Builder& builder, ir::Value* tensor, const Place& place,
                  const ir::AxisList& axes);
void StoreAt(ir::Builder& builder, ir::Value* value, ir::Value* tensor, const Place& place);

/// What the groups of an spmd fold for one tensor, and where they keep it until other groups have folded theirs.
///
/// A dimension whose index is nothing but a binder that goes over all of it is cut into that binder's blocks. The first
/// such binders that stand side by side make tiles; the other dimensions are whole in each tile. So blocks have numbers
///
///   (round * tiles + tile) * depth + rest
///
/// and a group meets tile after tile, the last one followed by the first: steps. It keeps one part for each tile that it
/// meets. Where there is one round, only the first and the last step of a group may be shared with other groups.
class GroupParts {
 public:
  /// `updates` are all of the tensor's in the spmd. `at_once`: a tile that no other group meets may be folded onto the
  /// tensor when the group has it.
  GroupParts(ir::Function& kernel, const ir::Op* spmd, const std::vector<ir::UpdateOp>& updates,
             SizeTable& sizes, bool at_once);

  ir::Value* tensor() const { return tensor_; }
  ir::UpdateKind how() const { return how_; }
  ir::Value* memory() const { return memory_; }
  /// What values are folded in.
  Scalar acc() const;
  uint64_t identity() const;

  bool has_tiles() const { return first_ < last_; }
  size_t first() const { return first_; }
  size_t last() const { return last_; }
  /// Whether groups fold what they alone meet, and keep parts only of the rest.
  bool at_once() const { return at_once_; }
  const std::vector<std::optional<size_t>>& tiled() const { return tiled_; }

  ir::Value* rounds() const { return rounds_; }
  ir::Value* tiles() const { return tiles_; }
  ir::Value* depth() const { return depth_; }

  /// Makes the memory, and the numbers above, at the builder's insertion point.
  void Make(ir::Builder& builder, GroupBlocks& blocks);
  /// Where the part of `tile`, or of the step that meets it, lies for a group whose first step is `first_step`.
  ir::Value* Slot(ir::Builder& builder, const GroupBlocks& blocks, ir::Value* group,
                  ir::Value* first_step, ir::Value* tile) const;
  /// `place` of the tensor in the part that lies at `slot`. `binders` are the values of the spmd's binders.
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
  std::vector<std::optional<size_t>> tiled_;  ///< by dimension, the binder that cuts it
  size_t first_ = 0;                          ///< of the binders that make tiles
  size_t last_ = 0;                           ///< after them
  Size tiles_size_ = nullptr;
  Size most_steps_ = nullptr;  ///< of a group that shares all of its tiles
  ir::Value* memory_ = nullptr;
  ir::Value* rounds_ = nullptr;
  ir::Value* tiles_ = nullptr;
  ir::Value* depth_ = nullptr;
  ir::Value* steps_ = nullptr;  ///< most_steps_, where groups share all of their tiles
};

/// Whether other cores may still touch the tensor before the spmd begins: since the last barrier something has.
bool IsOpenBefore(const ir::Function& kernel, const ir::Op* spmd, const ir::Value* tensor);

}  // namespace kdl::passes
