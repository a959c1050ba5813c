#pragma once

#include "passes/names.h"

namespace kdl::passes {

/// Erases the ops of a block, and of the regions in it, that have no effect and whose results nobody uses, last ones first.
/// True where there was one.
bool DropUnused(ir::Region* region);

}  // namespace kdl::passes
