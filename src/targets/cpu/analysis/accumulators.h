#pragma once

#include <vector>

#include "ir/op_kind.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// Returns the contraction in the loop's body that accumulates into the tile in `tile_buffer`, if nothing
/// else in the loop accesses that buffer. Otherwise returns null.
ir::Op* AccumulatorOf(const ir::Op* loop, const ir::Value* tile_buffer);

/// Returns the tile buffers for which `AccumulatorOf` finds a contraction in the loop, in the order of the
/// contractions.
std::vector<const ir::Value*> AccumulatedIn(const ir::Op* loop);

/// Whether the op, or an op inside it, uses the value. For a tile buffer, writing to it counts as a use.
bool Touches(const ir::Op* op, const ir::Value* value);

/// Whether the op only makes a tile buffer, accesses it or moves its contents, and computes nothing.
inline bool IsPlacing(const ir::Op* op) {
  return op->kind() == ir::OpKind::TileBuffer || op->kind() == ir::OpKind::LoadTile ||
         op->kind() == ir::OpKind::StoreTile || op->kind() == ir::OpKind::Move;
}

}  // namespace kdl::cpu
