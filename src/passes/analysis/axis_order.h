#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The order in which a kernel's axes are walked and in which its tiles lie in scratch: one for the whole kernel, so
/// that what one elementwise loop writes side by side the next one reads side by side. The last axis of a elementwise loop is the one that
/// becomes vectors.
class AxisOrder {
 public:
  /// From what memory and reductions want. Last comes, of two axes, the one that
  ///  - is stated to be innermost,
  ///  - else: a reduction in lanes folds (its lanes are side by side),
  ///  - else: stands last in what is stored, before last in what is loaded, before the rest,
  ///  - and the last axis of a contraction's result comes after the axes that the contraction folds.
  /// The axis of a cut's blocks stands where the axis does that is cut.
  explicit AxisOrder(const ir::Function& kernel);

  /// Outermost first.
  ir::AxisList Sorted(ir::AxisList axes) const;

 private:
  void StudyAccesses(const ir::Function& kernel);
  /// False: no axis has moved.
  bool StudyFolds(const ir::Function& kernel);
  void Raise(ir::AxisId axis, int above);

  /// By AxisId, twice: whether the first one has to come after the second one.
  using Followers = std::vector<std::vector<bool>>;
  /// The axis is to come after the other one. Of folds that ask for a circle the first ones get what they ask for.
  void Follow(ir::AxisId axis, ir::AxisId other, Followers& behind);

  ir::AxisId Whole(ir::AxisId axis) const { return whole_[axis.value]; }

  std::vector<ir::AxisId>
      whole_;                ///< by AxisId: of a cut's blocks the axis that is cut, else itself
  std::vector<int> weight_;  ///< by AxisId; the heavier is further in
};

}  // namespace kdl::passes
