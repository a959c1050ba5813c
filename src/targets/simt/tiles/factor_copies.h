#pragma once

#include <functional>
#include <vector>

#include "targets/simt/facts.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Fetches a product's factors to workgroup memory with asynchronous copies, which bypass the registers and
/// move several elements each. This works for elementwise loops that do nothing but load their elements.
/// Copies of several factors can be in flight at the same time. Tiles that each iteration of a loop loads, and that
/// threads read in the order in which they lie in memory, are fetched in the same way, and so are long rows.
class FactorCopies {
 public:
  using Values = passes::Values;
  /// Returns the load's index operands at a point of the load's elementwise loop.
  using IndexAt = std::function<Values(const ir::Op* load, const Values& point)>;

  FactorCopies(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles)
      : bytes_(facts.copy_bytes), b_(b), tiles_(tiles) {}

  /// Returns whether the op is an elementwise loop that asynchronous copies can replace.
  bool Takes(const ir::Op* op) const;
  /// Emits code that begins the copies to the buffer. Calls `otherwise` to emit code for blocks that are not
  /// whole or elements that are not aligned.
  void Begin(const ir::Op* elementwise, ir::Value* tensor, ir::Value* buffer,
             const IndexAt& index_at, const std::function<void()>& otherwise);
  /// Emits a wait for all copies that have begun.
  void Await();

 private:
  int64_t CopyLanes(const ir::Value* tile) const;
  bool IsLongRow(const ir::Value* tile) const;
  ir::Value* CountCopies(const ir::Op* elementwise);
  ir::Value* HasWholeCopies(const ir::Op* elementwise);
  ir::Value* IsAligned(const ir::Op* elementwise, ir::Value* tensor, const IndexAt& index_at);
  Values FirstPoint(const ir::Op* elementwise);
  void CopyPart(const ir::Op* elementwise, ir::Value* number, ir::Value* tensor, ir::Value* buffer,
                const IndexAt& index_at);

  int64_t bytes_;
  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  Values begun_;  ///< buffers with copies in flight
};

}  // namespace kdl::simt
