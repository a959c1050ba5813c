#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::cpu {

/// Whether no two indices of a binder's axis touch one element that either of them writes, but by atomic updates: then it does
/// not matter which of them a block has. `binders`: one of each loop whose blocks run with no barrier between.
bool HaveOwnElements(const std::vector<const ir::Value*>& binders);

}  // namespace kdl::cpu
