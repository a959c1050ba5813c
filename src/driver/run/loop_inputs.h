#pragma once

#include <cstddef>
#include <set>

#include "ir/module.h"

namespace kdl::driver {

/// Returns the indices of the parameters (scalars and tensors) that may determine how often a loop
/// runs. They must get small values, because a loop up to the largest i64 would practically never
/// end.
std::set<size_t> LoopInputs(const ir::Module& module, const ir::Function& function);

}  // namespace kdl::driver
