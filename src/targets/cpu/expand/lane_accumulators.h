#pragma once

#include <functional>
#include <span>

#include "targets/cpu/expand/lane_walk.h"

namespace kdl::cpu {

/// The number of accumulators of a reduction whose order can be observed.
constexpr int64_t kLanes = 64;

/// The accumulators of reductions in 64-lane order: for each reduction, 64 / L vectors of L lanes.
///
/// Minima and maxima of integers are the same in any order, so they have at most four vectors. So have those of floats while NaN
/// are watched for.
///
/// On processors whose instructions for the maximum ignore NaN and the signs of zeros, a maximum of floats can be computed with
/// these instructions first, while NaN are watched for. If there was a NaN, or if the result is a zero, the row has to be reduced
/// again exactly. The same applies to minima.
class LaneAccumulators {
 public:
  LaneAccumulators(Expander& e, const LaneWalk& walk);

  int64_t width() const { return width_; }  ///< the number of lanes in a vector
  /// Returns the number of vectors for the lanes of one reduction.
  size_t vectors() const;
  /// Whether the elements that are left over after whole iterations may be accumulated in the first vector.
  bool in_any_order() const;
  /// Returns the number of elements of an iteration before those of a vector of accumulators.
  int64_t VectorStart(size_t vector) const { return static_cast<int64_t>(vector) * width_; }
  int64_t LanesPerIteration() const { return static_cast<int64_t>(vectors()) * width_; }

  Values Identities() const;
  /// Returns the accumulators of all reductions before the first term.
  Values Starts();
  /// Accumulates the chunk's elements in one vector of each reduction. In the current iteration, there are `skipped`
  /// elements before the chunk.
  void AccumulateChunk(std::span<ir::Value*> lanes, int64_t skipped, const Chunk& chunk);
  /// Returns the results of all reductions.
  Values Finished(std::span<ir::Value* const> lanes);

  /// Whether the accumulation of a row could watch for NaN.
  bool may_watch() const;
  /// Sets whether extrema of floats are computed by watching for NaN.
  void set_watches(bool watches) { watches_ = watches; }
  /// Returns the results of reductions that were computed with watches, and whether they are exact.
  Values FinishedQuickly(std::span<ir::Value* const> lanes, ir::Value*& is_exact);

 private:
  /// Whether the reduction is a maximum or minimum of floats that is computed faster by watching for NaN.
  bool MayWatch(const Accumulation& fold) const;
  bool Watches(const Accumulation& fold) const { return watches_ && MayWatch(fold); }
  /// Returns the number of accumulators of the reduction, including the vectors that record NaN.
  size_t Slots(const Accumulation& fold) const;
  /// Returns the type of the vectors that record NaN. Their lanes are as wide as those of the floats.
  ir::Type WatchType(const Accumulation& fold);
  /// Returns the accumulators of a reduction before the first term. Lane 0 starts from the reduction's
  /// initial value, the other lanes from its identity.
  Values Start(const Accumulation& fold);
  /// Returns the larger (or smaller) one of two floats, neither of which is NaN. Zeros count as equal.
  ir::Value* Extremum(const Accumulation& fold, ir::Value* a, ir::Value* b);
  ir::Value* Watch(const Accumulation& fold, ir::Value* before, ir::Value* term);
  /// Combines lane l with lane l + 32, then with lane l + 16, and so on, and finally with lane l + 1.
  ir::Value* Finish(const Accumulation& fold, Values lanes);

  Expander& e_;
  const LaneWalk& walk_;
  int64_t width_;
  bool watches_ = false;
};

/// Combines all lanes of vectors, of which there are a power of two, into one scalar.
ir::Value* CombineLanes(Expander& e, Values lanes,
                        const std::function<ir::Value*(ir::Value*, ir::Value*)>& combine);

}  // namespace kdl::cpu
