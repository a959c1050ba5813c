#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The ops that use a pipe, and the stages in which they stand; a call of a fn that takes the pipe counts by the fn's end.
struct PipeEnds {
  std::vector<ir::Op*> pushes;  ///< push, acquire, or a call
  std::vector<ir::Op*> pops;    ///< pop, wait, or a call
};

/// Which end a use of a pipe as operand is; nothing: neither (commit and release end what acquire and wait began).
enum class PipeEnd : uint8_t { Push, Pop, Neither };
PipeEnd EndOf(const ir::Use& use, const ir::Module& module);

PipeEnds EndsOf(const ir::Value* pipe, const ir::Module& module);

/// The stage around an op; null: none.
ir::Op* StageOf(const ir::Op* op);

}  // namespace kdl::passes
