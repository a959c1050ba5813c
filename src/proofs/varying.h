#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

/// Finds the values that may differ between cores running the same code outside of `spmd for`.
class Varying {
 public:
  enum class By : uint8_t {
    Core,  ///< depends on core_id or on the contents of a pipe
    /// Like `Core`, or depends on elements that the launch may write. Such elements may differ between cores,
    /// because races have not been excluded yet.
    Memory,
  };

  Varying(const ir::Function& kernel, By by);

  bool IsVarying(const ir::Value* value) const { return values_.contains(value); }
  /// Returns whether some cores may execute an op more often than others, or execute it while others do not.
  bool IsAround(const ir::Op* op) const;

 private:
  bool IsSource(const ir::Op* op) const;
  void Visit(const ir::Op* op);
  void VisitBranches(const ir::Op* op);
  void VisitLoop(const ir::Op* loop);
  bool IterationsVary(const ir::Op* loop) const;
  bool AnyVaries(std::span<ir::Value* const> values) const;
  bool HasVaryingAxis(const ir::Op* op) const;
  void Add(const ir::Value* value);
  void AddResults(const ir::Op* op);

  By by_;
  std::set<const ir::Value*> values_;
  std::set<ir::AxisId> axes_;  ///< the axes whose blocks vary
};

}  // namespace kdl::proofs
