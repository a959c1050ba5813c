#pragma once

#include <functional>

#include "targets/cpu/expand/lane_accumulators.h"

namespace kdl::cpu {

/// Reduces the terms of one element of the results: a row along the last axis, or several.
class LaneRows {
 public:
  LaneRows(Expander& e, const LaneWalk& walk, LaneAccumulators& lanes);

  /// Returns the reduced values of the element at the position, one for each reduction.
  Values Fold();
  /// Returns the axes that are reduced, without the last one.
  ir::AxisList SlowAxes() const;

  /// Reduces the elements from index `full` on, with a loop over vectors.
  Values RestInAnyOrder(const Values& carried, ir::Value* full);

 private:
  Values FoldExactly();
  /// Returns the accumulators of all reductions after the last term.
  Values FoldLanes();
  Values RowInFasterWay(const Values& carried);
  Values Row(const Values& carried);
  /// Accumulates the elements of the stretch in order: those before the interior of the row, those inside, and those
  /// after it. The parts consist of whole iterations of `step` elements. One loop runs those before and after.
  Values InParts(const Values& carried, const Stretch& stretch, int64_t step,
                 const std::function<Values(const Values&, const Stretch&)>& accumulate);
  /// Accumulates the elements of the stretch in iterations of `step` elements, which fill all accumulators.
  Values WholeIterations(const Values& carried, const Stretch& stretch, int64_t step);
  /// Reduces the elements from index `full` on. Vectors without such elements are skipped, so that nothing is
  /// computed for them and nothing can trap. If the size is a constant, no run-time checks are needed.
  Values Rest(const Values& carried, ir::Value* full);
  /// Adds the sum of each row to the scalar result. The accumulators of a loop are then used only by the sum of
  /// their lanes, as LLVM's analysis of reductions requires.
  Values FoldIntegers();
  Values AddRow(const Values& sums);
  /// Returns how many elements an iteration over sums of integers processes: those of two cache lines, since one prefetch
  /// brings two lines.
  int64_t IntegerStep() const;

  Expander& e_;
  const LaneWalk& walk_;
  LaneAccumulators& lanes_;
  ir::AxisId last_;
  bool adds_integers_;
};

}  // namespace kdl::cpu
