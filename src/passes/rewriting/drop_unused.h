#pragma once

#include "passes/names.h"

namespace kdl::passes {

/// Erases ops that have no effect and whose results are unused, in a region and its nested regions. Starts
/// with the last op. Returns whether it erased any.
bool DropUnused(ir::Region* region);

}  // namespace kdl::passes
