#pragma once

#include <map>
#include <vector>

#include "passes/analysis/traffic.h"

namespace kdl::passes {

/// A stage, and what it does with pipes. Each pipe has as many pops as pushes.
struct StageTraffic {
  const ir::Op* stage = nullptr;
  Traffic traffic;
};

/// Whether all stages run to their ends, and how full their pipes get. Each pipe has one producer and one
/// consumer, so this does not depend on timing: if the stages end in one interleaving, they end in every
/// interleaving, with pipes that are as deep as that one needs.
struct Schedule {
  bool ends = false;
  std::map<const ir::Value*, int64_t> depth;  ///< the most tiles in each pipe
  std::vector<const ir::Op*> stuck;           ///< the ops at which stages stop that do not end
  bool waiting = false;                       ///< all of them wait for a tile, so no depth helps
  bool guesses = false;  ///< assumed combinations of branches that may never occur
};

/// Simulates the stages. Loops that use pipes are run together if they have equal iterations and leave their
/// pipes as full as before. Other loops are unrolled if their number of iterations is a small constant.
Schedule FindSchedule(const std::vector<StageTraffic>& stages);

}  // namespace kdl::passes
