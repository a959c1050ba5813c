#pragma once

#include <unordered_set>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Whether the tile has one axis and holds its indices: made by `iota`, or by the elementwise loop that has become of it.
bool IsIndices(const ir::Value* tile);

/// Indices, and conditions on them by scalars and each other, that only elementwise loops read: each computes them anew, so that they
/// are no tiles, and a elementwise loop knows what its elements are chosen by. So are narrow integers that updates take as indices:
/// a tile of them is smaller, and what was loaded may be loaded again.
class IndexConditions {
 public:
  explicit IndexConditions(const ir::Function& kernel);

  /// The op that makes the value, where elementwise loops compute it; else null.
  ir::Op* OpOf(const ir::Value* value) const;
  bool Has(const ir::Op* op) const { return set_.contains(op); }

 private:
  bool MayBe(const ir::Op* op) const;

  std::unordered_set<const ir::Op*> set_;
};

}  // namespace kdl::passes
