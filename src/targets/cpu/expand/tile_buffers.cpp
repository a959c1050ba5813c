#include <algorithm>
#include <bit>

#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

// Allocates the memory of tile buffers, and turns accesses to elements of tiles into loads and stores.

namespace kdl::cpu {

namespace {

/// Converts an index to the layout with groups. Returns the index of the element itself or, if `whole` is
/// true, that of the first element of its group.
Values InGroup(Expander& e, const TileBuffer& tile_buffer, Values index, bool whole) {
  if (tile_buffer.group == 1 || !tile_buffer.panel) return index;
  Value*& row = index[index.size() - 2];
  Value* first = e.b.Mul(index.back(), e.b.I64(tile_buffer.group));
  Value* place = e.b.And(row, e.b.I64(tile_buffer.group - 1));
  index.back() = whole ? first : e.b.Add(first, place);
  row = e.b.Shr(row, e.b.I64(std::countr_zero(static_cast<uint64_t>(tile_buffer.group))));
  return index;
}

Values IndexAt(Expander& e, const TileBuffer& tile_buffer, const Position& position,
               bool whole = false) {
  Values index;
  for (size_t i = 0; i < tile_buffer.axes.size(); ++i) {
    Value* at = position.at(tile_buffer.axes[i]);
    Value* offset = tile_buffer.offsets.empty() ? nullptr : tile_buffer.offsets[i];
    index.push_back(offset ? e.b.Add(offset, at) : at);
  }
  if (!tile_buffer.panel) return index;
  if (tile_buffer.place) {
    index.insert(index.begin(), tile_buffer.place);
    return InGroup(e, tile_buffer, index, whole);
  }
  Value* last = index.back();
  index.back() = e.b.And(last, e.b.I64(tile_buffer.panel - 1));
  int64_t shift = std::countr_zero(static_cast<uint64_t>(tile_buffer.panel));
  index.insert(index.begin(), e.b.Shr(last, e.b.I64(shift)));
  return InGroup(e, tile_buffer, index, whole);
}

/// Reports that the buffer's layout is unsuitable, but only once for each buffer.
void Refuse(Expander& e, const TileBuffer& tile_buffer, ir::AxisId axis, const ir::Loc& loc) {
  if (!e.refused.insert(tile_buffer.buffer).second) return;
  e.context.diagnostics.Report(passes::diag::TileBufferAcross, e.context.SpanOf(loc),
                               e.function.axis(axis).name.text(),
                               tile_buffer.buffer->name().text());
}

/// Reports an error if a chunk is accessed in a buffer with groups, because in such a buffer, adjacent
/// elements along the last axis are not contiguous.
void RefuseGroups(Expander& e, const TileBuffer& tile_buffer, const Chunk& chunk) {
  if (tile_buffer.group > 1 && tile_buffer.panel && chunk.lanes > 1)
    Refuse(e, tile_buffer, tile_buffer.axes.back(), e.b.loc());
}

}  // namespace

TileBuffer MakeTileBuffer(Expander& e, const Value* tile_buffer) {
  ir::Type type = tile_buffer->type();
  std::vector<int64_t> extents;
  for (ir::AxisId axis : type->axes) extents.push_back(e.Extent(axis));
  if (type->panel) {
    extents.insert(extents.begin(), (extents.back() + type->panel - 1) / type->panel);
    extents.back() = type->panel * type->group;
    int64_t& rows = extents[extents.size() - 2];
    if (type->group > 1) rows = (rows + type->group - 1) / type->group;
    if (type->pad) rows += type->pad / extents.back();
  } else {
    extents.back() = (extents.back() + type->group - 1) / type->group * type->group + type->pad;
  }
  Op* buffer = e.b.Create(OpKind::BufferNew, {}, {e.module.types().Buffer(type->scalar, extents)});
  buffer->result()->set_name(tile_buffer->name());
  return {buffer->result(), type->axes, type->panel, type->group, {}, nullptr};
}

TileBuffer SubtileOf(Expander& e, const Op* at, const Value* tile_buffer, const Value* tile) {
  TileBuffer part = e.tile_buffers.at(tile_buffer);
  ir::AxisList axes = *ir::SubtileAxes(e.function, tile_buffer->type(), tile->type());
  bool gets = at->kind() == OpKind::LoadTile;
  auto panel =
      at->Segment(gets ? size_t{ir::LoadTileOp::at_panel} : size_t{ir::StoreTileOp::at_panel});
  if (!panel.empty()) part.place = e.Scalar(panel[0]);
  if (axes == part.axes) return part;
  for (size_t i = 0; i < axes.size(); ++i) {
    bool in_panel = part.place && i + 1 == axes.size();
    part.offsets.push_back(OffsetIn(e, at, axes[i], part.axes[i], in_panel ? part.panel : 0));
  }
  part.axes = axes;
  return part;
}

std::optional<TileBuffer> FindTileBuffer(Expander& e, const Value* tile) {
  const Op* def = tile->def();
  if (def && def->kind() == OpKind::LoadTile) return SubtileOf(e, def, def->operand(0), tile);
  for (const ir::Use& use : tile->uses()) {
    if (use.user->kind() == OpKind::StoreTile)
      return SubtileOf(e, use.user, use.user->operand(1), tile);
  }
  return std::nullopt;
}

TileBuffer TileBufferOf(Expander& e, const Value* tile) {
  std::optional<TileBuffer> tile_buffer = FindTileBuffer(e, tile);
  KDL_CHECK(tile_buffer, "'{}' has no tile buffer", tile->name().text());
  return *tile_buffer;
}

TileBuffer TileBufferAlong(Expander& e, const Value* tile, ir::AxisId axis) {
  TileBuffer tile_buffer = TileBufferOf(e, tile);
  if (HasAxis(tile, axis) && tile_buffer.axes.back() != axis)
    Refuse(e, tile_buffer, axis, tile->def()->loc());
  return tile_buffer;
}

Value* LoadChunk(Expander& e, const TileBuffer& tile_buffer, kdl::Scalar scalar,
                 const Position& position, const Chunk& chunk) {
  RefuseGroups(e, tile_buffer, chunk);
  return MakeOne(e.b, OpKind::BufferLoad,
                 {{tile_buffer.buffer}, IndexAt(e, tile_buffer, position), OneOrNone(chunk.mask)},
                 e.VectorType(scalar, chunk.lanes));
}

Value* ReadAt(Expander& e, Value* old, const Position& position, const Chunk& chunk) {
  if (!IsTileValue(old)) return e.Scalar(old);
  return LoadChunk(e, TileBufferOf(e, old), old->type()->scalar, position, chunk);
}

Value* ZeroOf(Expander& e, ir::Type type) {
  return e.b.Splat(e.b.Bits(type->scalar, 0), ir::Lanes(type));
}

Values FirstIndexOf(Expander& e, const TileBuffer& tile_buffer, const Position& position) {
  return IndexAt(e, tile_buffer, position, true);
}

Value* LoadGroups(Expander& e, const TileBuffer& tile_buffer, kdl::Scalar scalar,
                  const Position& position, int64_t lanes) {
  return MakeOne(e.b, OpKind::BufferLoad,
                 {{tile_buffer.buffer}, IndexAt(e, tile_buffer, position, true), {}},
                 e.VectorType(scalar, lanes * tile_buffer.group));
}

void StoreGroups(Expander& e, Value* value, const TileBuffer& tile_buffer,
                 const Position& position) {
  e.b.Create(OpKind::BufferStore,
             {{value}, {tile_buffer.buffer}, IndexAt(e, tile_buffer, position, true), {}}, {});
}

void StoreChunk(Expander& e, Value* value, const TileBuffer& tile_buffer, const Position& position,
                const Chunk& chunk) {
  RefuseGroups(e, tile_buffer, chunk);
  e.b.Create(OpKind::BufferStore,
             {{e.b.Splat(value, chunk.lanes)},
              {tile_buffer.buffer},
              IndexAt(e, tile_buffer, position),
              OneOrNone(chunk.mask)},
             {});
}

void CopyTile(Expander& e, const Op* at, const TileBuffer& from, const TileBuffer& to,
              kdl::Scalar scalar) {
  if (from.buffer == to.buffer) return;
  Position position;
  ir::AxisId last = to.axes.back();
  int64_t lanes = from.axes.back() == last ? e.LanesAlong(last, Bytes(scalar)) : 1;
  MakeChunksOf(e, at, to.axes, lanes, position, [&](const Chunk& chunk) {
    StoreChunk(e, LoadChunk(e, from, scalar, position, chunk), to, position, chunk);
  });
}

}  // namespace kdl::cpu
