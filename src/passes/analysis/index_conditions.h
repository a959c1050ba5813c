#pragma once

#include <unordered_set>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns whether the tile has one axis and its elements are the indices along that axis. Such a tile is
/// computed by `iota`, or by the elementwise loop that has replaced the `iota`.
bool IsIndices(const ir::Value* tile);

/// Finds tiles of indices that only elementwise loops read, conditions that compare such indices with scalars
/// or with one another, and sums, minima, maxima, quotients and remainders of such indices that are only
/// compared or used as indices of loads.
/// Each loop recomputes these values, so that they need no tiles and the loop knows which elements it reads,
/// and which condition selects its elements. The same is done for narrow integers that updates use as
/// indices: the loop widens them, because a tile of narrow integers is smaller and loads of them may be
/// repeated.
class IndexConditions {
 public:
  explicit IndexConditions(const ir::Function& kernel);

  /// Returns the op that computes the value if loops recompute it, otherwise null.
  ir::Op* OpOf(const ir::Value* value) const;
  bool Has(const ir::Op* op) const { return set_.contains(op); }

 private:
  bool MayBe(const ir::Op* op) const;

  std::unordered_set<const ir::Op*> set_;
};

}  // namespace kdl::passes
