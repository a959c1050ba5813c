#include <algorithm>
#include <bit>

#include "support/check.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/expand/in_place.h"

// A tile's home is decided at its definition. To save copies it stands where it will be needed: a carried tile in the
// place of its predecessor, a branch's tile in the place of the branch's result.

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// The op of `block` that is `op` or has it inside.
const Op* AncestorIn(const ir::Block* block, const Op* op) {
  while (op && op->block() != block) op = op->block()->parent();
  return op;
}

bool ComesAfter(const Op* later, const Op* op) {
  for (const Op* next = op->next(); next; next = next->next()) {
    if (next == later) return true;
  }
  return false;
}

/// Whether no tile that stands in `buffer` is looked at behind `op` in its block. Uses outside that block are those of the
/// loop or branch around, which come before it or see what it yields.
bool IsFreeBehind(const Expander& e, const Value* buffer, const Op* op) {
  return std::none_of(e.homes.begin(), e.homes.end(), [&](const auto& entry) {
    const auto& [tile, home] = entry;
    if (home.buffer != buffer) return false;
    return std::any_of(tile->uses().begin(), tile->uses().end(), [&](const ir::Use& use) {
      return ComesAfter(AncestorIn(op->block(), use.user), op);
    });
  });
}

/// A nest reads an element before it writes it; the other ops read elements that they have overwritten.
bool Disturbs(const Expander& e, const Op* def, const Home& home) {
  if (def->kind() == OpKind::Nest) return false;
  return std::any_of(def->operands().begin(), def->operands().end(), [&](const Value* operand) {
    auto found = e.homes.find(operand);
    return found != e.homes.end() && found->second.buffer == home.buffer;
  });
}

/// Where the only use of `value` yields it to, and that place's home; nothing where there is none yet.
std::optional<Home> YieldTarget(const Expander& e, const Value* value, const Op* def) {
  if (value->uses().size() != 1) return std::nullopt;
  const ir::Use& use = value->uses()[0];
  const Op* parent = use.user->block()->parent();
  if (use.user->kind() != OpKind::Yield || use.user->block() != def->block() || !parent)
    return std::nullopt;
  const Value* target = nullptr;
  if (parent->kind() == OpKind::If) {
    target = parent->result(use.operand);
  } else if (parent->kind() == OpKind::Loop) {
    target = use.user->block()->param(use.operand + 1);
  } else if (parent->kind() == OpKind::While) {
    target = use.user->block()->param(use.operand);
  }
  auto home = target ? e.homes.find(target) : e.homes.end();
  bool usable = home != e.homes.end() && IsFreeBehind(e, home->second.buffer, def) &&
                !Disturbs(e, def, home->second);
  return usable ? std::optional(home->second) : std::nullopt;
}

/// The home of a tile that the result of a nest is but for some elements, where nothing needs that tile any more.
std::optional<Home> KeptHome(const Expander& e, const Op* op, size_t i) {
  if (op->kind() != OpKind::Nest || PanelOf(e, op->result(i))) return std::nullopt;
  for (const Value* tile : KeptTiles(op, i)) {
    auto home = e.homes.find(tile);
    if (home == e.homes.end() || home->second.panel || !DiesAt(tile, op)) continue;
    auto stands_there = [&](const Value* result) {
      auto other = e.homes.find(result);
      return other != e.homes.end() && other->second.buffer == home->second.buffer;
    };
    if (std::ranges::any_of(op->results(), stands_there)) continue;
    if (IsFreeBehind(e, home->second.buffer, op)) return home->second;
  }
  return std::nullopt;
}

/// The elements from row to row. Rows whose distance is a multiple of many cache lines fall into few sets of a cache and
/// push each other out; one line more spreads them.
int64_t PaddedRow(int64_t extent, int64_t bytes, const ProcessorFacts& facts) {
  constexpr int64_t kCrowded = 8;  // lines: at this distance only an eighth of the sets is used
  bool crowds = extent * bytes % (kCrowded * facts.cache_line_bytes) == 0;
  return crowds ? extent + facts.cache_line_bytes / bytes : extent;
}

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

bool DiesAt(const Value* operand, const Op* op) {
  const ir::Block* home = operand->def() ? operand->def()->block() : operand->block();
  if (home != op->block()) return false;
  return std::none_of(operand->uses().begin(), operand->uses().end(), [&](const ir::Use& use) {
    return ComesAfter(AncestorIn(op->block(), use.user), op);
  });
}

Home NewHome(Expander& e, ir::Type tile, std::optional<ir::AxisId> last, int64_t panel) {
  ir::AxisList axes = e.order.Sorted(tile->axes);
  if (last) {
    std::erase(axes, *last);
    axes.push_back(*last);
  }
  std::vector<int64_t> extents;
  for (ir::AxisId axis : axes) extents.push_back(e.Extent(axis));
  if (panel) {
    extents.insert(extents.begin(), (extents.back() + panel - 1) / panel);
    extents.back() = panel;
  } else if (axes.size() > 1) {
    extents.back() = PaddedRow(extents.back(), Bytes(tile->scalar), e.facts);
  }
  Op* buffer = e.b.Create(OpKind::BufferNew, {}, {e.module.types().Buffer(tile->scalar, extents)});
  return {buffer->result(), std::move(axes), panel, nullptr, nullptr};
}

Home ResultHome(Expander& e, const Op* op, size_t i) {
  const Value* result = op->result(i);
  if (auto made = e.homes.find(result); made != e.homes.end()) return made->second;
  std::optional<Home> target = YieldTarget(e, result, op);
  if (!target) target = KeptHome(e, op, i);
  Home home = target ? *target : NewHome(e, result->type(), std::nullopt, PanelOf(e, result));
  if (!target) home.buffer->set_name(result->name());
  return e.homes[result] = home;
}

Home HomeAlong(Expander& e, const Op* at, Value* tile, ir::AxisId last) {
  Home own = e.homes.at(tile);
  if (own.axes.back() == last) return own;
  Home copy = NewHome(e, tile->type(), last);
  CopyTile(e, at, own, copy, tile->type()->scalar);
  return copy;
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
