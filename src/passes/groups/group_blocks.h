#pragma once

#include <vector>

#include "ir/builder.h"
#include "passes/rewriting/block_loops.h"

namespace kdl::passes {

/// The blocks of an spmd that is distributed in groups. They are numbered as in LANGUAGE.md: the leftmost
/// loop variable changes slowest.
class GroupBlocks {
 public:
  /// Computes the numbers of blocks and groups at the builder's insertion point.
  GroupBlocks(ir::Builder& builder, const ir::Function& kernel, const ir::Op* spmd);

  ir::Value* groups() const { return groups_; }
  /// Returns the largest possible number of groups.
  Size most_groups() const { return most_groups_; }
  /// Returns the number of blocks formed by the loop variables from `from` (inclusive) to `to` (exclusive),
  /// computed at the builder's insertion point.
  ir::Value* Count(size_t from, size_t to);
  /// Returns the number of a group's first block. The computation cannot overflow.
  ir::Value* FirstBlockOf(ir::Value* group);
  /// Returns the group of a block, or -1 if there are no blocks. Unspecified for 2^55 blocks or more, which
  /// cannot be run in practice.
  ir::Value* GroupOfBlock(ir::Value* block);
  /// Returns the values that the loop variables have in block `number`.
  std::vector<ir::Value*> BinderValues(ir::Value* number);

 private:
  ir::Builder& builder_;
  std::vector<ir::Value*> binders_;
  std::vector<BlockRange> ranges_;
  std::vector<ir::Value*> counts_;
  ir::Value* blocks_ = nullptr;
  ir::Value* groups_ = nullptr;
  ir::Value* divisor_ = nullptr;  ///< the number of groups, or 1 if there are none
  ir::Value* share_ = nullptr;    ///< the smallest number of blocks in a group
  /// The number of blocks that remain if each group has `share_` blocks.
  ir::Value* more_ = nullptr;
  Size most_groups_ = nullptr;
};

}  // namespace kdl::passes
