#pragma once

#include <functional>
#include <vector>

#include "targets/simt/facts.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Brings a product's factors to the team's memory by copies that pass by the registers, many elements each, where elementwise loops do
/// nothing but load them. Copies of several factors are under way at once.
class FactorCopies {
 public:
  using Values = passes::Values;
  /// The load's operands where the elementwise loop is at the point.
  using IndexAt = std::function<Values(const ir::Op* load, const Values& point)>;

  FactorCopies(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles)
      : bytes_(facts.copy_bytes), b_(b), tiles_(tiles) {}

  /// Whether the op is a elementwise loop whose elements can be copied.
  bool Takes(const ir::Op* op) const;
  /// Begins the elementwise loop's copies to the buffer. Where its blocks are not whole, or elements not aligned, `otherwise`.
  void Begin(const ir::Op* elementwise, ir::Value* tensor, ir::Value* buffer,
             const IndexAt& index_at, const std::function<void()>& otherwise);
  /// Waits for all that have begun.
  void Await();

 private:
  int64_t LanesOf(const ir::Value* tile) const;
  ir::Value* IsWhole(const ir::Op* elementwise);
  ir::Value* IsAligned(const ir::Op* elementwise, ir::Value* tensor, const IndexAt& index_at);
  Values StartOf(const ir::Op* elementwise);
  void CopyPart(const ir::Op* elementwise, ir::Value* number, ir::Value* tensor, ir::Value* buffer,
                const IndexAt& index_at);

  int64_t bytes_;
  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  Values begun_;  ///< buffers
};

}  // namespace kdl::simt
