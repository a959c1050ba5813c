#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/groups/group_blocks.h"
#include "passes/groups/group_parts.h"

namespace kdl::passes {

/// Returns whether an op reduces values of the blocks of a group into a tensor.
bool IsGroupUpdate(const ir::Op* op);

/// Returns the updates in an spmd that reduce over groups, as one list for each tensor. All updates of one
/// tensor use the same operator.
std::vector<std::vector<ir::UpdateOp>> GroupUpdatesOf(const Op* spmd);

/// Moves the body of an spmd that is distributed in groups into an spmd over groups, at the insertion point of `builder`. Each
/// group runs its blocks in order, and accumulates what they reduce in its partial results. `parts` has an entry for each tensor
/// that the blocks reduce.
void RunGroups(ir::Builder& builder, ir::Function& kernel, ir::Op* spmd, GroupBlocks& blocks,
               const std::vector<GroupParts>& parts, ir::Value* first_group, ir::Value* end_group);

}  // namespace kdl::passes
