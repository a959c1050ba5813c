#include <algorithm>
#include <bit>

#include "passes/diagnostics.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

// Homes become buffers, and elements of tiles what stands in them.

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

Values IndexAt(Expander& e, const Home& home, const Position& position) {
  Values index;
  for (ir::AxisId axis : home.axes) index.push_back(position.at(axis));
  if (!home.panel) return index;
  if (home.first) {
    index.back() = e.b.Binary(OpKind::Sub, index.back(), home.first);
    index.insert(index.begin(), home.place);
    return index;
  }
  Value* last = index.back();
  index.back() = e.b.Binary(OpKind::And, last, e.b.I64(home.panel - 1));
  int64_t shift = std::countr_zero(static_cast<uint64_t>(home.panel));
  index.insert(index.begin(), e.b.Binary(OpKind::Shr, last, e.b.I64(shift)));
  return index;
}

}  // namespace

Home MakeHome(Expander& e, const Value* home) {
  ir::Type type = home->type();
  std::vector<int64_t> extents;
  for (ir::AxisId axis : type->axes) extents.push_back(e.Extent(axis));
  if (type->panel) {
    extents.insert(extents.begin(), (extents.back() + type->panel - 1) / type->panel);
    extents.back() = type->panel;
  }
  extents.back() += type->pad;
  Op* buffer = e.b.Create(OpKind::BufferNew, {}, {e.module.types().Buffer(type->scalar, extents)});
  buffer->result()->set_name(home->name());
  return {buffer->result(), type->axes, type->panel, nullptr, nullptr};
}

const Home* FindHome(const Expander& e, const Value* tile) {
  if (auto given = e.given.find(tile); given != e.given.end()) return &given->second;
  if (tile->def() && tile->def()->kind() == OpKind::Get)
    return &e.homes.at(tile->def()->operand(0));
  for (const ir::Use& use : tile->uses()) {
    if (use.user->kind() == OpKind::Put) return &e.homes.at(use.user->operand(1));
  }
  return nullptr;
}

const Home& HomeOf(const Expander& e, const Value* tile) {
  const Home* home = FindHome(e, tile);
  KDL_CHECK(home, "'{}' has no home", tile->name().text());
  return *home;
}

const Home& HomeAlong(Expander& e, const Value* tile, ir::AxisId axis) {
  const Home& home = HomeOf(e, tile);
  const ir::AxisList& axes = tile->type()->axes;
  bool has = std::ranges::find(axes, axis) != axes.end();
  if (has && home.axes.back() != axis && e.refused.insert(home.buffer).second) {
    e.context.diagnostics.Report(passes::diag::HomeAcross, e.context.SpanOf(tile->def()->loc()),
                                 e.function.axis(axis).name.text());
  }
  return home;
}

Value* LoadPiece(Expander& e, const Home& home, kdl::Scalar scalar, const Position& position,
                 const Piece& piece) {
  Values mask;
  if (piece.mask) mask.push_back(piece.mask);
  return e.b
      .Create(OpKind::BufferLoad, {{home.buffer}, IndexAt(e, home, position), mask},
              {e.TypeOf(scalar, piece.lanes)})
      ->result();
}

void StorePiece(Expander& e, Value* value, const Home& home, const Position& position,
                const Piece& piece) {
  Values mask;
  if (piece.mask) mask.push_back(piece.mask);
  e.b.Create(OpKind::BufferStore,
             {{e.b.Splat(value, piece.lanes)}, {home.buffer}, IndexAt(e, home, position), mask},
             {});
}

void CopyTile(Expander& e, const Op* at, const Home& from, const Home& to, kdl::Scalar scalar) {
  if (from.buffer == to.buffer) return;
  Position position;
  ir::AxisList outer(to.axes.begin(), to.axes.end() - 1);
  ir::AxisId last = to.axes.back();
  int64_t lanes = from.axes.back() == last ? e.LanesAlong(last, Bytes(scalar)) : 1;
  MakeNest(e, at, outer, position, {}, [&](const Values&) -> Values {
    MakePieces(
        e, at, last, lanes, position,
        [&](const Piece& piece) {
          StorePiece(e, LoadPiece(e, from, scalar, position, piece), to, position, piece);
        },
        true);
    return {};
  });
}

}  // namespace kdl::cpu
