#pragma once

#include <map>
#include <vector>

#include "ir/builder.h"

namespace kdl::cpu {

/// Returns the ops after a reduction that process each subtile of its result as soon as it is computed. They
/// move together with the reduction.
std::vector<ir::Op*> FollowersOf(const ir::Op* fold);

/// Wraps a reduction that reads and writes tile buffers in nested `split` ops. Moves the reduction into them,
/// together with the ops that load its tiles and those that process its result. As a result, all of these ops
/// work on chunks, whose axes are those of the splits.
class ReductionSplitter {
 public:
  ReductionSplitter(ir::Module& module, ir::Op* fold);

  /// Opens a `split` of the axis's block inside the splits that are already open.
  void Open(ir::AxisId axis, const ir::NumberList& sizes);
  /// Copies the op to the builder's insertion point. In the tiles of the copy, each axis that is split is
  /// replaced by the axis of its chunks, except for the axes in `but`.
  ir::Op* Copy(const ir::Op* op, const ir::AxisList& but = {});
  /// Moves the reduction into the splits by copying it and erasing the original. Returns the copy.
  ir::Op* Move();

  /// Returns a builder that is positioned before the innermost split's yield.
  ir::Builder& b() { return b_; }
  /// Returns the innermost split's block.
  ir::Value* block() const { return block_; }

 private:
  ir::Type ChunkType(ir::Type tile, const ir::AxisList& but) const;
  void SortPoints(const ir::Op* op, const ir::Op* copy) const;

  ir::Builder b_;
  ir::Op* fold_;
  ir::Value* block_ = nullptr;
  /// Maps an axis that is split to the axis of its chunks.
  std::map<ir::AxisId, ir::AxisId> parts_;
  ir::ValueMap map_;
};

}  // namespace kdl::cpu
