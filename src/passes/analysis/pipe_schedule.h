#pragma once

#include <map>
#include <vector>

#include "passes/analysis/traffic.h"

namespace kdl::passes {

/// Stages whose pipes have as many pops as pushes.
struct StageTraffic {
  const ir::Op* stage = nullptr;
  Traffic traffic;
};

/// Whether the stages come to their ends, and how full the pipes then are at most. Pipes with one producer and one
/// consumer make that independent of timing: if the stages end in one order of turns, they end in every order, with
/// pipes that hold as much as in that one.
struct Schedule {
  bool ends = false;
  std::map<const ir::Value*, int64_t> depth;  ///< most tiles in each pipe
  std::vector<const ir::Op*> stuck;           ///< where they stand who do not end
  bool waiting = false;                       ///< all of those wait for a tile: no depth helps
  bool guesses = false;  ///< sides of branches were put together that may never meet
};

/// Loops with pipes in them are walked together where they have equal turns and leave their pipes as full as before;
/// few constant turns are walked one by one.
Schedule FindSchedule(const std::vector<StageTraffic>& stages);

}  // namespace kdl::passes
