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

/// The partial results of an spmd's groups for one tensor, and the memory in which groups keep them until they
/// are combined. The memory consists of slots. With GroupShape::Tiles, a group has a few slots of its own, each
/// for one tile of the tensor. Otherwise, there is a slot for each segment, with the shape of the tensor.
class GroupParts {
 public:
  /// `updates` must be all updates of the tensor in the spmd.
  GroupParts(ir::Function& kernel, const ir::Op* spmd, const std::vector<ir::UpdateOp>& updates);

  ir::Value* tensor() const { return tensor_; }
  ir::UpdateKind how() const { return how_; }
  ir::Value* memory() const { return memory_; }
  /// Returns the accumulator type, in which values are reduced.
  Scalar acc() const;
  uint64_t identity() const;
  /// Returns the value of two partial results.
  ir::Value* Combined(ir::Builder& builder, ir::Value* a, ir::Value* b) const;

  /// Returns for each dimension the distributed variable (GroupBlocks) that is its index, if there is one.
  const std::vector<std::optional<size_t>>& tiled() const { return tiled_; }

  /// Creates the memory at the builder's insertion point.
  void Make(ir::Builder& builder, const GroupBlocks& blocks);
  /// Uses this memory instead, which has a tensor for each segment.
  void UseMemory(ir::Value* memory, const GroupBlocks& blocks);

  /// With tiles, returns the first of a group's slots. In slot number `level` from there on, the group keeps the value
  /// of 2^level segments until it is combined with that of the next ones.
  ir::Value* FirstSlot(ir::Builder& builder, ir::Value* group) const;
  /// Returns the place in a slot that corresponds to `place` of the tensor. `variables` are the values of the
  /// spmd's loop variables; those of distributed variables must not be null.
  Place InSlot(ir::Builder& builder, const Place& place, ir::Value* slot,
               const std::vector<ir::Value*>& variables) const;

 private:
  std::vector<Size> SlotDims(SizeTable& sizes) const;
  void SetShape(const GroupBlocks& blocks);

  ir::Function& kernel_;
  const ir::Op* spmd_;
  ir::Value* tensor_;
  ir::UpdateKind how_;
  /// For each dimension, the loop variable that is its index.
  std::vector<std::optional<size_t>> variable_of_;
  std::vector<std::optional<size_t>> tiled_;
  bool has_tiles_ = false;  ///< whether slots contain tiles
  Size levels_ = nullptr;   ///< with tiles: the number of slots of a group
  ir::Value* memory_ = nullptr;
};

/// Returns whether other cores may still be accessing the tensor when the spmd begins, because something has
/// accessed it since the last barrier.
bool IsOpenBefore(const ir::Function& kernel, const ir::Op* spmd, const ir::Value* tensor);

}  // namespace kdl::passes
