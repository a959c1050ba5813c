#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::cpu {

/// Whether no two indices of a binder's axis access the same element if one of them writes it other than by
/// an atomic update. It then does not matter which indices are in the same block. `binders`: one for each
/// loop whose blocks run without a barrier between them.
bool HaveOwnElements(const std::vector<const ir::Value*>& binders);

}  // namespace kdl::cpu
