#pragma once

#include <set>
#include <span>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

/// What cores that run the same code outside of `spmd for` may have different values of: what is made of core_id, of what a
/// pipe holds, and of elements that the launch may write.
class Varying {
 public:
  explicit Varying(const ir::Function& kernel);

  bool Is(const ir::Value* value) const { return values_.contains(value); }
  /// Whether some cores may come to an op, and others not, or not as often.
  bool IsAround(const ir::Op* op) const;

 private:
  void Visit(const ir::Op* op);
  void VisitBranches(const ir::Op* op);
  void VisitLoop(const ir::Op* loop);
  bool TurnsVary(const ir::Op* loop) const;
  bool AnyOf(std::span<ir::Value* const> values) const;
  bool HasVaryingAxis(const ir::Op* op) const;
  void Add(const ir::Value* value);
  void AddResults(const ir::Op* op);

  std::set<const ir::Value*> values_;
  std::set<ir::AxisId> axes_;  ///< whose blks vary
};

}  // namespace kdl::proofs
