#pragma once

#include <unordered_map>

#include "ir/module.h"
#include "passes/analysis/axis_order.h"

namespace kdl::passes {

/// Loads that every elementwise loop which reads them does for itself, so that no tile of theirs is kept: those from tensors that
/// the kernel cannot change, read by ops of their own block side by side or the same for a whole row. Where something
/// else needs the tile, a twin of the load keeps it.
class Reloads {
 public:
  /// Finds the loads, and parts from each the twin that what is no such reader uses.
  Reloads(ir::Module& module, const ir::Function& kernel, const AxisOrder& order);

  /// The load that makes the value; null: the value is a tile that is kept.
  ir::Op* LoadOf(const ir::Value* value) const;
  /// The load's copy that makes a tile; null: there is none.
  ir::Op* KeptTwin(const ir::Op* load) const;

 private:
  std::unordered_map<const ir::Op*, ir::Op*> twins_;  ///< of all of them; null: none
};

}  // namespace kdl::passes
