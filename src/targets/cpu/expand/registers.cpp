#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "targets/cpu/expand/expander.h"

// Handles tiles that a reduction has left in registers. They stay in registers until they are stored in a
// buffer or an elementwise loop has read them.

namespace kdl::cpu {

namespace {

/// Returns the position at which a vector of the tile begins.
Position VectorPosition(Expander& e, const RegisterTile& tile, int64_t row, int64_t column) {
  Position position;
  for (ir::AxisId axis : tile.block.outer) position[axis] = e.b.I64(0);
  if (tile.block.row) position[*tile.block.row] = tile.partial.Number(e.b, row);
  position[*tile.block.column] = e.b.I64(column * tile.block.lanes);
  return position;
}

}  // namespace

void StoreRegisters(Expander& e, const Op* put) {
  const RegisterTile& tile = e.registers.at(put->operand(0));
  TileBuffer tile_buffer = TileBufferAlong(e, put->operand(0), *tile.block.column);
  tile.shape.ForEach([&](size_t n, int64_t row, int64_t column) {
    StoreChunk(e, tile.values[n], tile_buffer, VectorPosition(e, tile, row, column), tile.chunk);
  });
}

const Value* RegisterTileOf(const Expander& e, const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Element && e.registers.contains(op->operand(0)))
      return op->operand(0);
  }
  return nullptr;
}

void ExpandElementwiseLoopOnRegisters(Expander& e, const Op* elementwise, const Value* value) {
  const RegisterTile& tile = e.registers.at(value);
  if (!UsesVectors(e, elementwise, tile.block)) {
    e.context.diagnostics.Report(passes::diag::RegistersAcross,
                                 e.context.SpanOf(elementwise->loc()));
    return;
  }
  auto expand_row = [&](int64_t row) {
    for (int64_t column = 0; column < tile.shape.columns; ++column) {
      auto n = static_cast<size_t>(row * tile.shape.columns + column);
      ExpandElementwiseLoopAt(e, elementwise, VectorPosition(e, tile, row, column), tile.chunk,
                              value, tile.values[n]);
    }
  };
  for (int64_t row = 0; row < tile.shape.rows; ++row) {
    if (!tile.partial.count || row == 0) {
      expand_row(row);
    } else {
      MakeIf(e.b, e.b.Gt(tile.partial.count, e.b.I64(row)), [&] { expand_row(row); });
    }
  }
}

}  // namespace kdl::cpu
