#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

/// What cores that run the same code outside of `spmd for` may have different values of.
class Varying {
 public:
  enum class By : uint8_t {
    Core,    ///< what is made of core_id, and of what a pipe holds
    Memory,  ///< and of elements that the launch may write: as long as races are not ruled out
  };

  Varying(const ir::Function& kernel, By by);

  bool Is(const ir::Value* value) const { return values_.contains(value); }
  /// Whether some cores may come to an op, and others not, or not as often.
  bool IsAround(const ir::Op* op) const;

 private:
  bool IsSource(const ir::Op* op) const;
  void Visit(const ir::Op* op);
  void VisitBranches(const ir::Op* op);
  void VisitLoop(const ir::Op* loop);
  bool IterationsVary(const ir::Op* loop) const;
  bool AnyOf(std::span<ir::Value* const> values) const;
  bool HasVaryingAxis(const ir::Op* op) const;
  void Add(const ir::Value* value);
  void AddResults(const ir::Op* op);

  By by_;
  std::set<const ir::Value*> values_;
  std::set<ir::AxisId> axes_;  ///< whose blocks vary
};

}  // namespace kdl::proofs
