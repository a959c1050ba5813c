#pragma once

#include <unordered_map>

#include "ir/module.h"
#include "passes/analysis/axis_order.h"

namespace kdl::passes {

/// Loads that every elementwise loop repeats for itself, so that no tile is kept for them. They load from tensors
/// that the kernel cannot change, and are read by ops of the same region that access whole rows contiguously, or use
/// one element for a whole row. If other ops need the tile, a copy of the load (its twin) makes it.
class Reloads {
 public:
  /// Finds the loads, and makes a twin of each load that other ops use too.
  Reloads(ir::Module& module, const ir::Function& kernel, const AxisOrder& order);

  /// Returns the load that makes the value, or null if the value is a tile that is kept.
  ir::Op* RepeatedLoad(const ir::Value* value) const;
  /// Returns the load's twin, which makes a tile, or null if it has none.
  ir::Op* KeptTwin(const ir::Op* load) const;

 private:
  std::unordered_map<const ir::Op*, ir::Op*> twins_;  ///< has all loads; null: no twin
};

}  // namespace kdl::passes
