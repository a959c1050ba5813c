#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/groups/group_blocks.h"
#include "passes/groups/group_parts.h"

namespace kdl::passes {

/// Moves the body of an spmd that is distributed in groups into an spmd over the groups from `first_group` to
/// `end_group` (exclusive), at the insertion point of `builder`. Each group runs its blocks in order, and accumulates
/// what they reduce in its partial results. `parts` has an entry for each tensor that the blocks reduce. With
/// GroupShape::Tiles, a group that has all segments of a tile also combines the tile's value with the tensor.
void RunGroups(ir::Builder& builder, ir::Function& kernel, ir::Op* spmd, GroupBlocks& blocks,
               const std::vector<GroupParts>& parts, const NumberRange& groups);

/// Returns floor(log2(number)) for a number from 1 to 256, and 0 for 0.
ir::Value* HighestBit(ir::Builder& builder, ir::Value* number);

}  // namespace kdl::passes
