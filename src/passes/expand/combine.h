#pragma once

#include "passes/expand/expander.h"

namespace kdl::passes {

/// A fold or scan by a region, along an ascending chain.
void ExpandCombine(Expander& e, const ir::Op* op);

}  // namespace kdl::passes
