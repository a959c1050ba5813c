#pragma once

#include <unordered_map>

#include "ir/module.h"
#include "passes/analysis/axis_order.h"

namespace kdl::passes {

/// Loads that each elementwise loop repeats, so that no tile is kept for their results. They load from
/// tensors that the kernel cannot change. Their users are ops of the same region that access whole rows
/// contiguously, or use one element for a whole row. Widening casts of such loads are repeated, too, if loops over more
/// axes use them. If other ops need the loaded tile, a copy of the load
/// (its twin) produces the tile.
class Reloads {
 public:
  /// Finds the loads that loops can repeat. Makes a twin of each load whose tile is also used by ops that
  /// cannot repeat the load. If `keeps_named` is true, tiles that the source names are loaded only once.
  Reloads(ir::Module& module, const ir::Function& kernel, const AxisOrder& order, bool keeps_named);

  /// Returns the load or cast that computes the value if loops repeat it; otherwise null.
  ir::Op* RepeatedLoad(const ir::Value* value) const;
  /// Returns the load's twin, which produces a tile, or null if it has none.
  ir::Op* KeptTwin(const ir::Op* load) const;

 private:
  /// Maps each repeated load to its twin or to null.
  std::unordered_map<const ir::Op*, ir::Op*> twins_;
};

}  // namespace kdl::passes
