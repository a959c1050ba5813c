#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The ops at the ends of a pipe. No fn has one: those with pipes are inlined before anything asks.
struct PipeEnds {
  std::vector<ir::Op*> pushes;  ///< push or acquire
  std::vector<ir::Op*> pops;    ///< pop or wait
};
PipeEnds EndsOf(const ir::Value* pipe);

/// The stage around an op; null: none.
ir::Op* StageOf(const ir::Op* op);

}  // namespace kdl::passes
