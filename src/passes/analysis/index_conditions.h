#pragma once

#include <unordered_set>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns whether the tile has one axis and its elements are the indices along that axis. It is made by
/// `iota`, or by the elementwise loop that replaced the `iota`.
bool IsIndices(const ir::Value* tile);

/// Finds index tiles that only elementwise loops read, and conditions that compare such indices with scalars
/// or with each other. Each loop recomputes them, so that they need no tiles and the loop knows which
/// condition selects its elements. Narrow integers that updates use as indices are treated alike: they are
/// widened in the loop, since a tile of narrow integers is smaller and loads of them may be repeated.
class IndexConditions {
 public:
  explicit IndexConditions(const ir::Function& kernel);

  /// Returns the op that makes the value if loops recompute it, else null.
  ir::Op* OpOf(const ir::Value* value) const;
  bool Has(const ir::Op* op) const { return set_.contains(op); }

 private:
  bool MayBe(const ir::Op* op) const;

  std::unordered_set<const ir::Op*> set_;
};

}  // namespace kdl::passes
