#pragma once

#include <optional>

#include "targets/simt/facts.h"

namespace kdl::simt {

// Products in a loop that does nothing but fetch both factors for each iteration. The factors are tiles of
// tensors that the kernel only reads. Tile copies fetch them to workgroup memory asynchronously, while the
// matrix instruction works on other tiles.

/// The number of bytes in a panel's row, as required by instructions that read workgroup memory.
inline constexpr int64_t kPanelBytes = 128;
/// The minimum number of slots of a ring: one slot is filled while another one is read.
inline constexpr int64_t kLeastSlots = 2;
inline constexpr int64_t kWorkgroupOfMbarriers = 2 << 10;  ///< bytes for mbarriers and alignment

/// A factor of such a product, with the axes of the tile that run along the tensor's rows and columns.
struct TensorTileFactor {
  const ir::Op* load;         ///< loads the whole tile or, inside `elementwise`, one element
  const ir::Op* elementwise;  ///< null if one op loads the whole tile
  ir::AxisId row;
  ir::AxisId column;         ///< the axis along the tensor's last dimension
  int64_t row_dimension;     ///< the dimension of the tensor along which `row` runs
  int64_t column_dimension;  ///< the dimension of the tensor along which `column` runs
};

/// Returns the tensor tile that is factor 0 or 1 of the product, or nothing if that factor is not a tensor
/// tile.
std::optional<TensorTileFactor> TensorTileFactorOf(const ir::Op* product, size_t factor);
/// Whether the op is a product of tensor tiles in a loop that does nothing else. Works before and after
/// fuse-elementwise.
bool IsTensorTileProduct(const ir::Op* product);

// Products in a loop that does more. Each factor is either such a tensor tile or computed by GPU threads.

/// Whether the enclosing loop fetches factor 0 or 1 as a tensor tile in each iteration.
bool ComesAsTensorTile(const ir::Op* product, size_t factor);
/// Whether threads compute the factor. Also, no other product may use it, no loop or branch may pass it on,
/// and nothing may print it.
bool IsMadeFactor(const ir::Op* product, size_t factor);
/// Whether each factor of the product is a tensor tile or is computed by threads. Must be called before
/// fuse-elementwise.
bool IsIterationProduct(const ir::Op* product);

}  // namespace kdl::simt
