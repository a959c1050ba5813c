#pragma once

#include <vector>

#include "ir/op.h"

// Finds the ops that compute where the data of an iteration is. An earlier iteration repeats these ops to fetch the
// data ahead of time.

namespace kdl::simt {

/// Returns whether an op in the region changes the tensor's memory.
bool ChangesMemory(const ir::Region* region, const ir::Value* memory);

/// Adds to `slice`, in order, the ops in the loop's body on which `op` depends. Returns false if one of them
/// cannot be repeated in an earlier iteration.
bool AddSlice(const ir::Op* loop, const ir::Op* op, std::vector<ir::Op*>& slice);

}  // namespace kdl::simt
