#pragma once

#include <vector>

#include "ir/op_kind.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The contraction in the loop's body that alone touches the tile buffer in the loop: it goes on from what stands there. Null: there
/// is none.
ir::Op* AccumulatorOf(const ir::Op* loop, const ir::Value* tile_buffer);

/// The tile buffers that the loop has such contractions for, in their order.
std::vector<const ir::Value*> AccumulatedIn(const ir::Op* loop);

/// Whether the op, or one inside of it, reads the value; of a tile buffer also whether it changes that.
bool Touches(const ir::Op* op, const ir::Value* value);

/// Whether the op makes a tile buffer or says what stands in one, and computes nothing.
inline bool IsPlacing(const ir::Op* op) {
  return op->kind() == ir::OpKind::TileBuffer || op->kind() == ir::OpKind::LoadTile ||
         op->kind() == ir::OpKind::StoreTile || op->kind() == ir::OpKind::Move;
}

}  // namespace kdl::cpu
