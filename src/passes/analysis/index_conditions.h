#pragma once

#include <unordered_set>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Whether the tile has one axis and contains its indices: it is made by `iota`, or by the elementwise loop
/// that replaced the `iota`.
bool IsIndices(const ir::Value* tile);

/// Indices that only elementwise loops read, and conditions that compare such indices with scalars or each
/// other. Each loop recomputes them, so that they need no tiles, and a loop knows which condition selects its
/// elements. The same is done for narrow integers that updates use as indices: they are widened in the loop,
/// since a tile of narrow integers is smaller, and a load of them may be repeated.
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
