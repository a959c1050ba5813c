#pragma once

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns the first op of a kernel whose effect may depend on the size of a block that the compiler chooses, or null.
const Op* FirstThatDependsOnSize(const ir::Function& kernel);

}  // namespace kdl::passes
