#pragma once

#include "ir/op.h"

namespace kdl::codegen {

/// Returns whether the op divides the number of a block, which is one of those that distribute-blocks has given to a core, by a
/// number of blocks along one dimension. Then the dividend is at least 0 and the divisor at least 1: a core has no blocks
/// unless the product of these numbers is positive.
bool DividesBlockNumber(const ir::Op* op);

}  // namespace kdl::codegen
