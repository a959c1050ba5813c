#pragma once

#include "ir/module.h"

namespace kdl::simt {

/// Stores all blocks of kept rows with one elementwise loop, where the source stores one block after the other.
void StoreBlocksTogether(ir::Module& module, ir::Function& kernel);

}  // namespace kdl::simt
