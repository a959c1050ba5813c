#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The ops that push to a pipe and the ops that pop from it. They are never in a fn: fns with pipes have been
/// inlined.
struct PipeEnds {
  std::vector<ir::Op*> pushes;  ///< push or acquire
  std::vector<ir::Op*> pops;    ///< pop or wait
};
PipeEnds PipeEndsOf(const ir::Value* pipe);

/// Returns the stage around an op, or null.
ir::Op* StageOf(const ir::Op* op);

}  // namespace kdl::passes
