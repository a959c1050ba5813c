#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/op.h"

// Finds the data that an iteration of a loop fetches, and the ops that compute the location of that data. An
// earlier iteration repeats these ops to fetch the data ahead of time.

namespace kdl::simt {

/// A buffer that an iteration of a loop fills.
struct Fetched {
  ir::Op* fetch;             ///< the op that fills the buffer
  ir::Op* buffer;            ///< the `buffer_new` that makes the buffer
  std::vector<ir::Op*> ops;  ///< the ops of the iteration, in order, that compute where the data is
};
/// Calls `at` for each op in the loop's body, and returns what these ops fetch. Returns nothing if threads
/// share the loop's iterations or if the loop may end early.
std::vector<Fetched> FetchedBy(ir::Op* loop,
                               const std::function<std::optional<Fetched>(ir::Op*)>& at);

/// Returns whether an op in the region changes the tensor's memory.
bool ChangesMemory(const ir::Region* region, const ir::Value* memory);

/// Adds to `slice`, in order, the ops in the loop's body on which `op` depends. Returns false if one of them
/// cannot be repeated in an earlier iteration.
bool AddSlice(const ir::Op* loop, const ir::Op* op, std::vector<ir::Op*>& slice);

}  // namespace kdl::simt
