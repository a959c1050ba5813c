#pragma once

#include <map>
#include <vector>

#include "ir/builder.h"

namespace kdl::cpu {

/// The ops after a fold that go where it goes: what is done with each part of its tile as soon as the part is made.
std::vector<ir::Op*> FollowersOf(const ir::Op* fold);

/// Opens cuts around a fold that goes from tile buffers to tile buffers, one inside of the other, and moves it into them, with what brings its
/// tiles and what follows it: all are then over the cuts' axes.
class ReductionSplitter {
 public:
  ReductionSplitter(ir::Module& module, ir::Op* fold);

  /// A cut of the axis' block, inside of those that are open.
  void Open(ir::AxisId axis, const ir::NumberList& sizes);
  /// A copy of the op where the builder stands. Tiles are over the cuts' axes, but for those that stay.
  ir::Op* Copy(const ir::Op* op, const ir::AxisList& but = {});
  /// The copy of the fold that stands in the cuts. The fold is gone.
  ir::Op* Move();

  /// Before the innermost cut's yield.
  ir::Builder& b() { return b_; }
  /// The innermost cut's block.
  ir::Value* block() const { return block_; }

 private:
  ir::Type PartOf(ir::Type tile, const ir::AxisList& but) const;

  ir::Builder b_;
  ir::Op* fold_;
  ir::Value* block_ = nullptr;
  std::map<ir::AxisId, ir::AxisId> parts_;  ///< of axes that are cut
  ir::ValueMap map_;
};

}  // namespace kdl::cpu
