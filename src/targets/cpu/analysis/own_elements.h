#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::cpu {

/// Whether different indices of a binder's axis never access the same element, unless both only read it or
/// update it atomically. It then does not matter which indices are in the same block. `binders` contains one
/// binder for each loop whose blocks run without a barrier between them.
bool HaveOwnElements(const std::vector<const ir::Value*>& binders);

}  // namespace kdl::cpu
