#pragma once

#include <vector>

#include "ir/builder.h"
#include "passes/rewriting/block_loops.h"

namespace kdl::passes {

/// The blocks of an spmd that is dealt in groups, as LANGUAGE.md numbers them: the leftmost binder counts slowest.
class GroupBlocks {
 public:
  /// Counts them at the builder's insertion point.
  GroupBlocks(ir::Builder& builder, const ir::Function& kernel, const ir::Op* spmd);

  ir::Value* groups() const { return groups_; }
  /// How many groups there are at most.
  Size most_groups() const { return most_groups_; }
  /// The blocks that the binders `from` up to `to` make, counted at the builder's insertion point.
  ir::Value* Count(size_t from, size_t to);
  /// The first block of a group, without an overflow.
  ir::Value* FirstOf(ir::Value* group);
  /// The group of a block; -1 where there are no blocks. Of 2^55 blocks or more, which nobody can walk, it is unspecified.
  ir::Value* GroupOf(ir::Value* block);
  /// Values for the binders in block `number`.
  std::vector<ir::Value*> BindersOf(ir::Value* number);

 private:
  ir::Builder& builder_;
  std::vector<ir::Value*> binders_;
  std::vector<BlockRange> ranges_;
  std::vector<ir::Value*> counts_;
  ir::Value* blocks_ = nullptr;
  ir::Value* groups_ = nullptr;
  ir::Value* divisor_ = nullptr;  ///< the groups, or 1 where there are none
  ir::Value* share_ = nullptr;    ///< the blocks that every group has
  ir::Value* more_ = nullptr;     ///< those that are left
  Size most_groups_ = nullptr;
};

}  // namespace kdl::passes
