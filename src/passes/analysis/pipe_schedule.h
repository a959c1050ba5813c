#pragma once

#include <map>
#include <vector>

#include "passes/analysis/traffic.h"

namespace kdl::passes {

/// A stage with its pushes and pops. In total, each pipe must have as many pops as pushes.
struct StageTraffic {
  const ir::Op* stage = nullptr;
  Traffic traffic;
};

/// The result of a simulation: whether all stages run to their ends, and how full their pipes get. Each pipe
/// has one producer and one consumer, so the result does not depend on timing. If the stages end in one
/// interleaving, they end in every interleaving, provided that pipes have the depth that the first
/// interleaving needs.
struct Schedule {
  bool ends = false;
  std::map<const ir::Value*, int64_t> depth;  ///< the maximum number of tiles in each pipe
  std::vector<const ir::Op*> stuck;  ///< for each stage that does not end, the op at which it stops
  bool waiting = false;  ///< whether all stuck stages wait for tiles; deeper pipes do not help
  bool guesses = false;  ///< the simulation assumed combinations of branches that may never occur
};

/// Simulates the stages. Loops that use pipes are simulated as one loop if they have the same iterations and
/// each iteration leaves the pipes as full as before. Other loops are unrolled if their number of iterations
/// is a small constant.
Schedule FindSchedule(const std::vector<StageTraffic>& stages);

}  // namespace kdl::passes
