#pragma once

#include <optional>

#include "targets/simt/facts.h"

namespace kdl::simt {

// Analyzes products in a loop that does nothing but fetch both factors and multiply them. The factors are
// tiles of tensors that the kernel only reads. Tile copies (TMA) fetch these tensor tiles to workgroup memory
// asynchronously, while the matrix instruction works on other tiles.

/// The number of bytes in a row of a swizzled panel, as required by instructions that read workgroup memory.
inline constexpr int64_t kPanelBytes = 128;
/// The minimum number of slots of a ring buffer. With two slots, one is filled while the other one is read.
inline constexpr int64_t kLeastSlots = 2;
inline constexpr int64_t kMostSlots = 8;  ///< more would only take workgroup memory
inline constexpr int64_t kWorkgroupOfMbarriers = 2 << 10;  ///< bytes for mbarriers and alignment

/// A factor that is a tensor tile. `row` and `column` are the axes of the tile that run along the tensor's
/// rows and columns.
struct TensorTileFactor {
  const ir::Op* load;         ///< loads the whole tile or, inside `elementwise`, one element
  const ir::Op* elementwise;  ///< null if one op loads the whole tile
  ir::AxisId row;
  ir::AxisId column;         ///< the axis along the tensor's last dimension
  int64_t row_dimension;     ///< the dimension of the tensor along which `row` runs
  int64_t column_dimension;  ///< the dimension of the tensor along which `column` runs
};

/// Describes the given factor (0 or 1) of the product as a tensor tile. Returns nothing if the factor is not
/// a tensor tile.
std::optional<TensorTileFactor> TensorTileFactorOf(const ir::Op* product, size_t factor);
/// Returns whether the op is a product of tensor tiles in a loop that does nothing else. Works both before
/// and after the pass fuse-elementwise.
bool IsTensorTileProduct(const ir::Op* product);

// The following functions are for products in a loop that also contains other ops. Each factor is either a
// tensor tile or computed by GPU threads.

/// Returns whether each iteration of the enclosing loop fetches the given factor (0 or 1) as a tensor tile.
bool ComesAsTensorTile(const ir::Op* product, size_t factor);
/// Returns whether threads compute the factor, no other product uses it, no loop or branch passes it on, and
/// nothing prints it.
bool IsMadeFactor(const ir::Op* product, size_t factor);
/// Returns whether each factor of the product is a tensor tile or is computed by threads. Must be called
/// before the pass fuse-elementwise.
bool IsIterationProduct(const ir::Op* product);

}  // namespace kdl::simt
