#pragma once

#include <cstddef>
#include <set>

#include "ir/module.h"

namespace kdl::driver {

/// The numbers of the parameters of a kernel or program, scalars and tensors, that may say how often something runs. What counts
/// to the largest i64 never ends.
std::set<size_t> LoopInputs(const ir::Module& module, const ir::Function& function);

}  // namespace kdl::driver
