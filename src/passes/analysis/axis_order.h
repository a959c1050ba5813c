#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The order of a kernel's axes in loops and in the layout of tiles in scratch memory. It is the same for the
/// whole kernel, so that each elementwise loop reads contiguously what an earlier elementwise loop has
/// written. The last axis of an elementwise loop is vectorized.
class AxisOrder {
 public:
  /// Derives the order from memory accesses and reductions. Two axes are ordered by the first of these
  /// criteria that holds for only one of them. That axis comes last:
  ///   1. it is declared to be innermost
  ///   2. it is reduced in 64-lane order, where lanes are contiguous
  ///   3. it is the last index of a store
  ///   4. it is the last index of a load
  /// The last axis of a contraction's result comes after the axes that the contraction reduces. But an axis
  /// along which no tensor is contiguous does not come after one that is declared to be innermost. If an axis is
  /// split, the axis of its blocks takes the position of the whole axis.
  explicit AxisOrder(const ir::Function& kernel);

  /// Sorts axes, outermost first.
  ir::AxisList Sorted(ir::AxisList axes) const;

 private:
  void StudyAccesses(const ir::Function& kernel);
  /// Gives axes larger weights where reductions require it. Returns whether the order has changed.
  bool StudyFolds(const ir::Function& kernel);
  void Raise(ir::AxisId axis, int above);

  /// A matrix with two axes as indices: `after[a][b]` is true if axis `a` must come after axis `b`.
  using Followers = std::vector<std::vector<bool>>;
  /// Requires that `axis` comes after `other`. If the requirements of reductions form a cycle, the earlier
  /// requirements take precedence.
  void Follow(ir::AxisId axis, ir::AxisId other, Followers& after);

  ir::AxisId Whole(ir::AxisId axis) const { return whole_[axis.value]; }

  /// By AxisId: the axis that was split into this axis, or the axis itself.
  std::vector<ir::AxisId> whole_;
  std::vector<int> weight_;  ///< by AxisId: axes with a larger weight are further inside
};

}  // namespace kdl::passes
