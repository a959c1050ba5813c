#pragma once

#include <map>
#include <vector>

#include "passes/analysis/traffic.h"

namespace kdl::passes {

/// A stage, and its pushes and pops. In total, each pipe must have as many pops as pushes.
struct StageTraffic {
  const ir::Op* stage = nullptr;
  Traffic traffic;
};

/// The result of a simulation: whether all stages run to their ends, and how full their pipes get. Each pipe
/// has one producer and one consumer, so the result does not depend on timing. If the stages end in one
/// interleaving, they end in every interleaving with pipes of the depth that the first one needs.
struct Schedule {
  bool ends = false;
  std::map<const ir::Value*, int64_t> depth;  ///< the most tiles in each pipe
  std::vector<const ir::Op*> stuck;  ///< for each stage that does not end, the op at which it stops
  bool waiting = false;              ///< all stuck stages wait for tiles, so no depth helps
  bool guesses = false;  ///< the simulation assumed combinations of branches that may never occur
};

/// Simulates the stages. Loops that use pipes are run together if they have equal iterations and leave their
/// pipes as full as before. Other loops are unrolled if their number of iterations is a small constant.
Schedule FindSchedule(const std::vector<StageTraffic>& stages);

}  // namespace kdl::passes
