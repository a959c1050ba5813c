#pragma once

#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Whether the buffer's elements along the axis are contiguous.
inline bool LiesAlong(const TileBuffer& buffer, ir::AxisId axis) {
  return buffer.axes.back() == axis && buffer.panel == 0 && buffer.group == 1;
}

/// Whether the elements along the axis of all tiles that the elementwise loop reads are contiguous.
inline bool ReadTilesLieAlong(Expander& e, const ir::Op* elementwise, ir::AxisId axis) {
  for (const ir::Op* op : *elementwise->region()) {
    if (op->kind() != ir::OpKind::Element || !HasAxis(op->operand(0), axis)) continue;
    if (!LiesAlong(TileBufferOf(e, op->operand(0)), axis)) return false;
  }
  return true;
}

/// Whether all tiles of which the elementwise loop reads neighbors have these in contiguous memory. `last` describes the
/// loop.
inline bool NeighborsLieAlong(Expander& e, const ir::Op* elementwise, const LastAxis& last) {
  for (const ir::Op* op : *elementwise->region()) {
    if (op->kind() != ir::OpKind::Element) continue;
    std::optional<ir::AxisId> along = last.MovesAlong(op);
    if (along && !LiesAlong(TileBufferOf(e, op->operand(0)), *along)) return false;
  }
  return true;
}

}  // namespace kdl::cpu
