#include <algorithm>
#include <bit>

#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

// Homes become buffers, and elements of tiles what stands in them.

namespace kdl::cpu {

namespace {

/// Of an element, or of the first of its group.
Values InGroup(Expander& e, const Home& home, Values index, bool whole) {
  if (home.group == 1 || !home.panel) return index;
  Value*& row = index[index.size() - 2];
  Value* first = e.b.Mul(index.back(), e.b.I64(home.group));
  Value* place = e.b.And(row, e.b.I64(home.group - 1));
  index.back() = whole ? first : e.b.Add(first, place);
  row = e.b.Shr(row, e.b.I64(std::countr_zero(static_cast<uint64_t>(home.group))));
  return index;
}

Values IndexAt(Expander& e, const Home& home, const Position& position, bool whole = false) {
  Values index;
  for (size_t i = 0; i < home.axes.size(); ++i) {
    Value* at = position.at(home.axes[i]);
    Value* offset = home.offsets.empty() ? nullptr : home.offsets[i];
    index.push_back(offset ? e.b.Add(offset, at) : at);
  }
  if (!home.panel) return index;
  if (home.place) {
    index.insert(index.begin(), home.place);
    return InGroup(e, home, index, whole);
  }
  Value* last = index.back();
  index.back() = e.b.And(last, e.b.I64(home.panel - 1));
  int64_t shift = std::countr_zero(static_cast<uint64_t>(home.panel));
  index.insert(index.begin(), e.b.Shr(last, e.b.I64(shift)));
  return InGroup(e, home, index, whole);
}

/// Once for each buffer.
void Refuse(Expander& e, const Home& home, ir::AxisId axis, const ir::Loc& loc) {
  if (!e.refused.insert(home.buffer).second) return;
  e.context.diagnostics.Report(passes::diag::HomeAcross, e.context.SpanOf(loc),
                               e.function.axis(axis).name.text(), home.buffer->name().text());
}

/// Elements that are neighbours along the last axis do not lie side by side in groups.
void RefuseGroups(Expander& e, const Home& home, const Piece& piece) {
  if (home.group > 1 && home.panel && piece.lanes > 1) Refuse(e, home, home.axes.back(), e.b.loc());
}

}  // namespace

Home MakeHome(Expander& e, const Value* home) {
  ir::Type type = home->type();
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
  buffer->result()->set_name(home->name());
  return {buffer->result(), type->axes, type->panel, type->group, {}, nullptr};
}

Home PartOf(Expander& e, const Op* at, const Value* home, const Value* tile) {
  Home part = e.homes.at(home);
  ir::AxisList axes = *ir::PartAxes(e.function, home->type(), tile->type());
  bool gets = at->kind() == OpKind::Get;
  auto panel = at->Segment(gets ? size_t{ir::GetOp::at_panel} : size_t{ir::PutOp::at_panel});
  if (!panel.empty()) part.place = e.Scalar(panel[0]);
  if (axes == part.axes) return part;
  for (size_t i = 0; i < axes.size(); ++i) {
    bool in_panel = part.place && i + 1 == axes.size();
    part.offsets.push_back(OffsetIn(e, at, axes[i], part.axes[i], in_panel ? part.panel : 0));
  }
  part.axes = axes;
  return part;
}

std::optional<Home> FindHome(Expander& e, const Value* tile) {
  const Op* def = tile->def();
  if (def && def->kind() == OpKind::Get) return PartOf(e, def, def->operand(0), tile);
  for (const ir::Use& use : tile->uses()) {
    if (use.user->kind() == OpKind::Put) return PartOf(e, use.user, use.user->operand(1), tile);
  }
  return std::nullopt;
}

Home HomeOf(Expander& e, const Value* tile) {
  std::optional<Home> home = FindHome(e, tile);
  KDL_CHECK(home, "'{}' has no home", tile->name().text());
  return *home;
}

Home HomeAlong(Expander& e, const Value* tile, ir::AxisId axis) {
  Home home = HomeOf(e, tile);
  if (HasAxis(tile, axis) && home.axes.back() != axis) Refuse(e, home, axis, tile->def()->loc());
  return home;
}

Value* LoadPiece(Expander& e, const Home& home, kdl::Scalar scalar, const Position& position,
                 const Piece& piece) {
  RefuseGroups(e, home, piece);
  return MakeOne(e.b, OpKind::BufferLoad,
                 {{home.buffer}, IndexAt(e, home, position), OneOrNone(piece.mask)},
                 e.TypeOf(scalar, piece.lanes));
}

Value* ReadAt(Expander& e, Value* old, const Position& position, const Piece& piece) {
  if (!IsTileValue(old)) return e.Scalar(old);
  return LoadPiece(e, HomeOf(e, old), old->type()->scalar, position, piece);
}

Value* ZeroOf(Expander& e, ir::Type type) {
  return e.b.Splat(e.b.Bits(type->scalar, 0), ir::Lanes(type));
}

Values FirstIndexOf(Expander& e, const Home& home, const Position& position) {
  return IndexAt(e, home, position, true);
}

Value* LoadGroups(Expander& e, const Home& home, kdl::Scalar scalar, const Position& position,
                  int64_t lanes) {
  return MakeOne(e.b, OpKind::BufferLoad, {{home.buffer}, IndexAt(e, home, position, true), {}},
                 e.TypeOf(scalar, lanes * home.group));
}

void StoreGroups(Expander& e, Value* value, const Home& home, const Position& position) {
  e.b.Create(OpKind::BufferStore, {{value}, {home.buffer}, IndexAt(e, home, position, true), {}},
             {});
}

void StorePiece(Expander& e, Value* value, const Home& home, const Position& position,
                const Piece& piece) {
  RefuseGroups(e, home, piece);
  e.b.Create(OpKind::BufferStore,
             {{e.b.Splat(value, piece.lanes)},
              {home.buffer},
              IndexAt(e, home, position),
              OneOrNone(piece.mask)},
             {});
}

void CopyTile(Expander& e, const Op* at, const Home& from, const Home& to, kdl::Scalar scalar) {
  if (from.buffer == to.buffer) return;
  Position position;
  ir::AxisId last = to.axes.back();
  int64_t lanes = from.axes.back() == last ? e.LanesAlong(last, Bytes(scalar)) : 1;
  MakePiecesOf(e, at, to.axes, lanes, position, [&](const Piece& piece) {
    StorePiece(e, LoadPiece(e, from, scalar, position, piece), to, position, piece);
  });
}

}  // namespace kdl::cpu
