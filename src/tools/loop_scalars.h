#pragma once

#include <cstddef>
#include <set>

#include "ir/module.h"

namespace kdl::tools {

/// The numbers of the scalar parameters of a kernel or fn that may say how often something runs. A kernel that counts to
/// the largest i64 never ends.
std::set<size_t> LoopScalars(const ir::Module& module, const ir::Function& function);

}  // namespace kdl::tools
