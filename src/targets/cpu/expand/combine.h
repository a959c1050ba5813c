#pragma once

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// A fold or scan by a region, along an ascending chain.
void ExpandCombine(Expander& e, const ir::Op* op);

}  // namespace kdl::cpu
