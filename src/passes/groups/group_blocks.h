#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/groups.h"
#include "passes/rewriting/block_loops.h"

namespace kdl::passes {

/// How groups share the blocks of an spmd.
enum class GroupShape {
  /// A group has consecutive tiles, which are the blocks of the outer kept variables, and a range of segments of
  /// each of them. The parts into which the segments are cut are as large as possible.
  Tiles,
  /// A group has one segment, and consecutive blocks of the kept variables.
  Segments,
  /// A group has one segment, and all blocks of the kept variables.
  WholeSegments,
};

/// A range of numbers: the first one, and one past the last.
struct NumberRange {
  ir::Value* begin;
  ir::Value* end;
};

/// The blocks of an spmd that is distributed in groups (ir/groups.h), and how groups share them. A block has
/// three numbers: that of the outer kept variables, that of the combined variables, and that of the inner kept
/// variables. In each, the last variable varies fastest.
class GroupBlocks {
 public:
  /// Computes the numbers of blocks and groups at the builder's insertion point. `enough_groups` is that of
  /// TargetFacts.
  GroupBlocks(ir::Builder& builder, const ir::Function& kernel, const ir::Op* spmd,
              GroupShape shape, int64_t enough_groups);

  GroupShape shape() const { return shape_; }
  const ir::GroupVariables& variables() const { return variables_; }
  /// Returns the kept variables whose blocks are distributed over groups.
  const std::vector<size_t>& distributed() const;

  ir::Value* groups() const { return groups_; }
  ir::Value* segments() const { return segments_; }
  /// Returns the number of parts into which groups cut the segments of a tile.
  ir::Value* parts() const { return parts_; }
  /// Return upper bounds of the numbers of groups and of segments.
  Size most_groups() const { return most_groups_; }
  Size most_segments() const { return most_segments_; }
  /// Returns the largest number of levels of the binary tree that combines the segments of a part.
  Size most_levels() const { return most_levels_; }

  /// Returns the number of blocks of these loop variables.
  ir::Value* Count(const std::vector<size_t>& variables);
  /// Returns a group's range of blocks of the distributed variables, or of all blocks of other kept variables.
  NumberRange Outer(ir::Value* group);
  NumberRange Inner(ir::Value* group);
  NumberRange Segments(ir::Value* group);
  /// Returns the combined blocks of a segment. The computation cannot overflow.
  NumberRange Combined(ir::Value* segment);
  /// Returns the values that the loop variables have in a block. They are null for variables without a number.
  std::vector<ir::Value*> VariableValues(ir::Value* outer, ir::Value* combined, ir::Value* inner);

 private:
  void ShareTiles();
  void ShareSegments();
  void SetBounds(const ir::Function& kernel);
  ir::Value* Begin(ir::Value* number, ir::Value* total, ir::Value* ranges);
  NumberRange Distributed(ir::Value* group);
  void SetValues(const std::vector<size_t>& variables, ir::Value* number,
                 std::vector<ir::Value*>& values);

  ir::Builder& builder_;
  const ir::Op* spmd_;
  GroupShape shape_;
  int64_t enough_groups_;
  ir::GroupVariables variables_;
  std::vector<BlockRange> ranges_;
  std::vector<ir::Value*> counts_;
  ir::Value* tiles_ = nullptr;     ///< the number of blocks of the distributed variables
  ir::Value* combined_ = nullptr;  ///< the number of combined blocks
  ir::Value* segments_ = nullptr;
  ir::Value* span_ = nullptr;  ///< the number of segments of a part; the last part may have fewer
  ir::Value* parts_ = nullptr;
  ir::Value* tile_ranges_ = nullptr;  ///< the number of ranges of tiles; each has `parts_` groups
  ir::Value* groups_ = nullptr;
  Size most_groups_ = nullptr;
  Size most_segments_ = nullptr;
  Size most_levels_ = nullptr;
};

}  // namespace kdl::passes
