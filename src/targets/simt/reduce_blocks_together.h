#pragma once

#include "ir/module.h"

namespace kdl::simt {

/// Reduces all blocks of a row that is in workgroup memory at once, in each loop that reduces one block after the other.
void ReduceBlocksTogether(ir::Module& module, ir::Function& kernel);

}  // namespace kdl::simt
