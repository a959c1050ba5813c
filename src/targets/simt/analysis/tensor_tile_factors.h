#pragma once

#include <optional>

#include "targets/simt/facts.h"

namespace kdl::simt {

// Products whose loop only brings both factors of each iteration, which are tiles of tensors that the kernel
// only reads. Tile copies bring them to workgroup memory asynchronously, while the matrix instruction works
// on others.

/// The bytes of a panel's row, as instructions that read workgroup memory expect it.
inline constexpr int64_t kPanelBytes = 128;
/// Slots of a ring: one is filled while another one is read.
inline constexpr int64_t kLeastSlots = 2;
inline constexpr int64_t kWorkgroupOfMbarriers = 2 << 10;  ///< bytes for mbarriers and alignment

/// A factor of such a product: which of the tile's axes run along the tensor's rows and columns.
struct TensorTileFactor {
  const ir::Op* load;         ///< loads the whole tile, or an element in `elementwise`
  const ir::Op* elementwise;  ///< null: one op loads the whole tile
  ir::AxisId row;
  ir::AxisId column;      ///< along the tensor's last dimension
  int64_t row_dimension;  ///< dimension of the tensor
  int64_t column_dimension;
};

/// Returns the tensor tile that is the product's factor 0 or 1, or nothing if the factor is not a tensor
/// tile.
std::optional<TensorTileFactor> TensorTileFactorOf(const ir::Op* product, size_t factor);
/// Whether a product is of this kind. Works before and after fuse-elementwise.
bool IsTensorTileProduct(const ir::Op* product);

// Products in a loop that does more. Each factor is such a tensor tile, or GPU threads compute it.

/// Whether the enclosing loop brings factor 0 or 1 as a tensor tile in each iteration.
bool ComesAsTensorTile(const ir::Op* product, size_t factor);
/// Whether threads compute the factor, and no other product uses it, no loop or branch passes it on, and
/// nothing prints it.
bool IsMadeFactor(const ir::Op* product, size_t factor);
/// Whether each factor is a tensor tile or is computed by threads. Must be called before fuse-elementwise.
bool IsIterationProduct(const ir::Op* product);

}  // namespace kdl::simt
