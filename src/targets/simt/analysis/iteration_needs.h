#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/op.h"

// What an iteration of a loop fetches, and the ops that say from where. An earlier iteration repeats these
// ops to fetch it ahead of time.

namespace kdl::simt {

/// A buffer that an iteration of a loop fills.
struct Fetched {
  ir::Op* fetch;             ///< the op that fills it
  ir::Op* buffer;            ///< its buffer_new
  std::vector<ir::Op*> ops;  ///< ops of the iteration, in order, that compute the source
};
/// Returns what the ops of an iteration fetch, as `at` says for each of them. Returns nothing if threads
/// share the loop's iterations or the loop may end early.
std::vector<Fetched> FetchedBy(ir::Op* loop,
                               const std::function<std::optional<Fetched>(ir::Op*)>& at);

/// Whether an op in the region changes the tensor's memory.
bool ChangesMemory(const ir::Region* region, const ir::Value* memory);

/// Adds the ops of the same iteration that `op` needs to `slice`, in order. Returns false if another
/// iteration cannot repeat one of them.
bool AddSlice(const ir::Op* loop, const ir::Op* op, std::vector<ir::Op*>& slice);

}  // namespace kdl::simt
