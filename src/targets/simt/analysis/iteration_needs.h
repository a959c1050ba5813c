#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/op.h"

// What a turn of a loop brings, and which ops of the turn tell from where: those that another turn repeats to bring it earlier.

namespace kdl::simt {

/// What a turn of a loop brings.
struct Fetched {
  ir::Op* fetch;             ///< what brings it
  ir::Op* buffer;            ///< its buffer_new
  std::vector<ir::Op*> ops;  ///< of the turn, in order: what says from where
};
/// What the ops of a turn bring, each asked by `at`; none where the loop's turns are not one worker's, in order, to the end.
std::vector<Fetched> FetchedBy(ir::Op* loop,
                               const std::function<std::optional<Fetched>(ir::Op*)>& at);

/// Whether something in the block changes the tensor's memory.
bool ChangesMemory(const ir::Region* region, const ir::Value* memory);

/// Adds the ops of the turn that `op`, one of it, needs, in order; false: one of them another turn cannot do for it.
bool AddSlice(const ir::Op* loop, const ir::Op* op, std::vector<ir::Op*>& slice);

}  // namespace kdl::simt
