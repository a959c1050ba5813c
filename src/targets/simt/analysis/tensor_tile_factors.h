#pragma once

#include <optional>

#include "targets/simt/facts.h"

namespace kdl::simt {

// A product whose loop does nothing else than bring both factors of each turn, boxes of tensors that the kernel only reads: those go
// to near memory by themselves, while a unit works on others.

inline constexpr int64_t kPanelBytes =
    128;  ///< of rows, as the units that read near memory have them
inline constexpr int64_t kLeastSlots = 2;  ///< of a ring: one comes while another one is read
inline constexpr int64_t kWorkgroupOfMbarriers = 2 << 10;  ///< bytes, and what alignment takes

/// A factor of one: where the tensor's elements side by side, and its rows, lie in the tile.
struct TensorTileFactor {
  const ir::Op* load;         ///< of the tile, or of an element in `elementwise`
  const ir::Op* elementwise;  ///< null: the tile is loaded at once
  ir::AxisId row;
  ir::AxisId column;      ///< along the tensor's last dimension
  int64_t row_dimension;  ///< of the tensor
  int64_t column_dimension;
};

/// What the product takes as factor 0 or 1; nothing: that is no box.
std::optional<TensorTileFactor> TensorTileFactorOf(const ir::Op* product, size_t factor);
/// Whether the product is one, before and after fuse-elementwise.
bool IsTensorTileProduct(const ir::Op* product);

// A product of a loop that does more: what it takes of the turn comes as such boxes, too, or is made by the workers.

/// Whether the loop around brings factor 0 or 1 in each turn.
bool ComesAsTensorTile(const ir::Op* product, size_t factor);
/// Whether the factor is a tile that workers make, and that no other product has, no loop or branch hands on, and nothing prints.
bool IsMadeFactor(const ir::Op* product, size_t factor);
/// Whether each factor is one or the other, and some are boxes; before fuse-elementwise.
bool IsIterationProduct(const ir::Op* product);

}  // namespace kdl::simt
