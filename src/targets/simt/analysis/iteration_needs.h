#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/op.h"

// Finds what an iteration of a loop fetches, and the ops that compute the source of the data. An earlier
// iteration repeats these ops to fetch the data ahead of time.

namespace kdl::simt {

/// A buffer that an iteration of a loop fills.
struct Fetched {
  ir::Op* fetch;             ///< the op that fills the buffer
  ir::Op* buffer;            ///< the `buffer_new` that makes the buffer
  std::vector<ir::Op*> ops;  ///< the ops of the iteration, in order, that compute the source
};
/// Returns what the ops of an iteration fetch; `at` returns what a single op fetches. Returns nothing if
/// threads share the loop's iterations or if the loop may end early.
std::vector<Fetched> FetchedBy(ir::Op* loop,
                               const std::function<std::optional<Fetched>(ir::Op*)>& at);

/// Whether an op in the region changes the tensor's memory.
bool ChangesMemory(const ir::Region* region, const ir::Value* memory);

/// Adds to `slice`, in order, the ops of the same iteration that `op` needs. Returns false if another
/// iteration cannot repeat one of them.
bool AddSlice(const ir::Op* loop, const ir::Op* op, std::vector<ir::Op*>& slice);

}  // namespace kdl::simt
