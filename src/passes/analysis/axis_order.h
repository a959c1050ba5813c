#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The order of a kernel's axes in loops and in the layout of tiles in scratch. It is the same for the whole
/// kernel, so that what one elementwise loop writes contiguously, the next one reads contiguously. The last
/// axis of an elementwise loop is the one that is vectorized.
class AxisOrder {
 public:
  /// Derives the order from memory accesses and reductions. Of two axes, the one that
  ///  - is declared to be innermost,
  ///  - else: is reduced in 64-lane order, where lanes are contiguous,
  ///  - else: is the last index of a store, or else the last index of a load,
  /// comes last. The last axis of a contraction's result comes after the axes that the contraction reduces.
  /// If an axis is split, the axis of its blocks has the same place as the axis itself.
  explicit AxisOrder(const ir::Function& kernel);

  /// Sorts axes, outermost first.
  ir::AxisList Sorted(ir::AxisList axes) const;

 private:
  void StudyAccesses(const ir::Function& kernel);
  /// Returns whether an axis has moved.
  bool StudyFolds(const ir::Function& kernel);
  void Raise(ir::AxisId axis, int above);

  /// A matrix indexed by AxisId twice: whether the first axis must come after the second one.
  using Followers = std::vector<std::vector<bool>>;
  /// Places `axis` after `other`. If reductions ask for a cycle, the first of them are satisfied.
  void Follow(ir::AxisId axis, ir::AxisId other, Followers& after);

  ir::AxisId Whole(ir::AxisId axis) const { return whole_[axis.value]; }

  std::vector<ir::AxisId> whole_;  ///< by AxisId: the axis that is split into it, or itself
  std::vector<int> weight_;        ///< by AxisId: axes with a larger weight are further in
};

}  // namespace kdl::passes
