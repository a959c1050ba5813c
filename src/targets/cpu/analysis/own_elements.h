#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::cpu {

/// Whether different indices of a binder's axis never access the same element, unless both only read it or
/// both update it atomically. If so, it does not matter which indices are in the same block. Each of the
/// `binders` is the induction variable of a loop, and there is no barrier between the blocks of these loops.
bool HaveOwnElements(const std::vector<const ir::Value*>& binders);

}  // namespace kdl::cpu
