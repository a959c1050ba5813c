#pragma once

#include <optional>

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// How a reduction or contraction in one chain an element is cut into blocks whose accumulators fit the registers:
/// rows along one axis of the result, vectors along its last one.
struct RegisterBlock {
  struct Shape {
    int64_t rows = 1;
    int64_t columns = 1;  ///< vectors

    /// `visit(number, row, column)`: row by row.
    template <class Visit>
    void ForEach(Visit&& visit) const {
      for (int64_t n = 0; n < rows * columns; ++n)
        visit(static_cast<size_t>(n), n / columns, n % columns);
    }
  };

  std::optional<ir::AxisId> column;  ///< none: the result is a scalar
  /// An axis along which some operand that walks the columns stands still: it is read once for several rows.
  std::optional<ir::AxisId> row;
  ir::AxisList outer;  ///< the result's other axes: walked one by one around the blocks
  int64_t lanes = 1;   ///< of a vector
  Shape
      largest;  ///< its accumulators, a vector a column and one of a spread scalar fill the registers

  static RegisterBlock Of(const KernelShape& kernel, const ir::Op& fold);
};

/// The panels by which register blocks walk a tile along its last axis, and how many neighbours along the axis before it they
/// take at once (TypeNode::group).
struct Panel {
  int64_t columns = 0;  ///< 0: there are none
  int64_t group = 1;

  bool operator==(const Panel&) const = default;
};

/// None where something else reads the tile too, or where a panel would be narrower than a vector of the tile.
Panel PanelOf(const KernelShape& kernel, const ir::Context& context, const ir::Value* tile);

/// How register blocks take a tile whose elements they spread over their columns, so that it may lie in any order.
struct Splat {
  ir::AxisId along;  ///< the terms follow each other
  /// Where each term's elements are in a line of their own, L1 keeps all those lines.
  bool cached_as_it_lies;
};

/// None where something else reads the tile, too.
std::optional<Splat> SplatOf(const KernelShape& kernel, const ir::Value* tile);

/// Whether the elementwise loop's body can take the block's vectors one by one.
bool UsesVectors(const KernelShape& kernel, const ir::Op* elementwise, const RegisterBlock& block);

}  // namespace kdl::cpu
