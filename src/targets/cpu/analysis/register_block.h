#pragma once

#include <optional>

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Describes how a reduction or contraction in sequential order is split into blocks whose accumulators fit
/// into registers. A block has rows along one axis of the result and vectors along the result's last axis.
struct RegisterBlock {
  struct Shape {
    int64_t rows = 1;
    int64_t columns = 1;  ///< the number of vectors in a row

    /// Calls `visit(number, row, column)` row by row.
    template <class Visit>
    void ForEach(Visit&& visit) const {
      for (int64_t n = 0; n < rows * columns; ++n)
        visit(static_cast<size_t>(n), n / columns, n % columns);
    }
  };

  std::optional<ir::AxisId> column;  ///< absent if the result is a scalar
  /// The axis of the rows. At least one operand has the column axis but not this axis. Each vector of such an
  /// operand is read once and used for several rows.
  std::optional<ir::AxisId> row;
  ir::AxisList outer;  ///< the result's other axes, over which loops around the blocks run
  int64_t lanes = 1;   ///< the number of elements in a vector
  /// The largest block. Registers have room for its accumulators, for one vector of each column, and for one
  /// vector that contains the same scalar in all lanes (a splat).
  Shape largest;

  static RegisterBlock ChooseFor(const KernelShape& kernel, const ir::Op& fold);
};

/// The panels (groups of adjacent columns) in which register blocks read a tile. The columns are along the
/// tile's last axis. Along the axis before the last one, blocks read `group` adjacent elements together
/// (TypeNode::group).
struct Panel {
  int64_t columns = 0;  ///< 0 if there are no panels
  int64_t group = 1;

  bool operator==(const Panel&) const = default;
};

/// Returns the tile's panels. There are none if anything else also reads the tile, or if a panel would be
/// narrower than a vector of the tile.
Panel PanelOf(const KernelShape& kernel, const ir::Context& context, const ir::Value* tile);

/// Describes how register blocks read a tile whose elements they splat over their columns, that is, copy to
/// all lanes.
struct Splat {
  ir::AxisId along;  ///< the axis along which consecutive terms are adjacent
  /// Whether the tile can keep the layout of its tensor. That is the case if L1 can hold the cache lines of
  /// all terms even if no two elements of a term share a line.
  bool cached_as_it_lies;
};

/// Returns how register blocks splat the tile's elements. Returns nothing if anything else also reads the
/// tile.
std::optional<Splat> SplatOf(const KernelShape& kernel, const ir::Value* tile);

/// Whether the elementwise loop's body can process the block's vectors one by one.
bool UsesVectors(const KernelShape& kernel, const ir::Op* elementwise, const RegisterBlock& block);

}  // namespace kdl::cpu
