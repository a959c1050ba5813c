#include "targets/cpu/expand/in_place.h"

#include <algorithm>

#include "ir/comparisons.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kept_tiles.h"

// An elementwise loop that changes a part of a tile in place runs only for that part, which may consist of
// rows, triangles or single elements. Outside of that part, the loop would only store the values that the
// tile already has.
//
//   elementwise (%p of %i, %q of %j) { %e = element %t at (%p, %q) ; … ; %c = and (eq %p, %r), (le %q, %p)
//                                      %n = select %c, %v, %e ; yield %n }
//   ->  loop over %r .. %r + 1 of %i { loop over 0 .. %p + 1 of %j { … } }

namespace kdl::cpu {

namespace {

/// Whether the only effect of skipping an element is that the value already in place is not stored again.
bool OnlyComputes(const Op* elementwise) {
  bool only = true;
  for (const Op* op : *elementwise->region())
    only = only && !MayTrap(op) && op->kind() != OpKind::Store && op->kind() != OpKind::Update;
  return only;
}

}  // namespace

Changes::Changes(ElementwiseLoopBody& body) : e_(body.e()), body_(body) {
  const Op* elementwise = body.elementwise();
  bool may_skip = body.folds().empty() && !body.last().Transposes() && OnlyComputes(elementwise);
  if (!may_skip || elementwise->results().empty()) return;
  bool all = true;
  for (size_t i = 0; i < elementwise->results().size(); ++i) all = all && NoteKept(i);
  if (!all) kept_.clear();
}

Window Changes::NarrowedWindow(AxisId axis) const {
  auto found = windows_.find(axis);
  return found == windows_.end() ? e_.WindowOf(body_.elementwise(), axis) : found->second;
}

/// Records the tile that the result keeps in place. Returns false if there is no such tile.
bool Changes::NoteKept(size_t result) {
  const Op* elementwise = body_.elementwise();
  std::optional<TileBuffer> own = FindTileBuffer(e_, elementwise->result(result));
  if (!own || own->panel) return false;
  for (Value* tile : KeptTiles(elementwise, result)) {
    std::optional<TileBuffer> tile_buffer = FindTileBuffer(e_, tile);
    if (!tile_buffer || tile_buffer->buffer != own->buffer) continue;
    kept_.push_back(tile);
    return true;
  }
  return false;
}

Changes::Reach Changes::Both(const Reach& a, const Reach& b) {
  if (a.kind == Reach::Kind::None || b.kind == Reach::Kind::All) return a;
  if (b.kind == Reach::Kind::None || a.kind == Reach::Kind::All) return b;
  return {Reach::Kind::Part, e_.b.Max(a.lo, b.lo), e_.b.Min(a.hi, b.hi), a.is_point || b.is_point};
}

Changes::Reach Changes::Either(const Reach& a, const Reach& b) {
  if (a.kind == Reach::Kind::None || b.kind == Reach::Kind::All) return b;
  if (b.kind == Reach::Kind::None || a.kind == Reach::Kind::All) return a;
  return {Reach::Kind::Part, e_.b.Min(a.lo, b.lo), e_.b.Max(a.hi, b.hi)};
}

/// Returns the positions at which `value` may differ from the element of the tile `kept`.
Changes::Reach Changes::OfValue(const Value* value, const Value* kept, int depth) {
  const Op* def = value->def();
  if (IsElementHere(body_.elementwise(), value) && def->operand(0) == kept)
    return {Reach::Kind::None};
  bool chooses =
      def && def->kind() == OpKind::Select && def->parent_region() == body_.elementwise()->region();
  if (!chooses || depth == kDeepestChoice) return {Reach::Kind::All};
  Reach where_first = Where(def->operand(0), true, depth);
  Reach first = Both(OfValue(def->operand(1), kept, depth + 1), where_first);
  Reach where_second = Where(def->operand(0), false, depth);
  Reach second = Both(OfValue(def->operand(2), kept, depth + 1), where_second);
  return Either(first, second);
}

Changes::Reach Changes::Where(const Value* condition, bool holds, int depth) {
  const Op* def = condition->def();
  if (!def || def->parent_region() != body_.elementwise()->region() || depth == kDeepestChoice)
    return {Reach::Kind::All};
  if (def->kind() == OpKind::Not) return Where(def->operand(0), !holds, depth + 1);
  if (def->kind() == OpKind::And || def->kind() == OpKind::Or) {
    Reach a = Where(def->operand(0), holds, depth + 1);
    Reach b = Where(def->operand(1), holds, depth + 1);
    return (def->kind() == OpKind::And) == holds ? Both(a, b) : Either(a, b);
  }
  return ir::IsComparison(def->kind()) ? OfComparison(def, holds) : Reach{Reach::Kind::All};
}

/// Returns the value in the new body if it is available where the loop begins, otherwise null.
Value* Changes::Known(Value* value) {
  if (!value->def() || value->def()->parent_region() != body_.elementwise()->region()) {
    const auto& points = body_.elementwise()->region()->params();
    auto point = std::ranges::find(points, value);
    if (point == points.end()) return e_.Scalar(value);
    auto i = static_cast<size_t>(point - points.begin());
    if (i >= mapped_) return nullptr;
    const ir::Value* block = body_.elementwise()->operand(i);
    return e_.b.Add(e_.blocks.at(block).start, body_.position().at(body_.axes()[i]));
  }
  return nullptr;
}

/// Returns the positions at which a comparison of the loop's index with a number has the result `holds`. The
/// number may lie outside of the axis's range.
Changes::Reach Changes::OfComparison(const Op* op, bool holds) {
  const Value* point = body_.elementwise()->region()->param(axis_);
  bool mirrored = op->operand(1) == point;
  if ((op->operand(0) == point) == mirrored) return {Reach::Kind::All};
  Value* number = Known(op->operand(mirrored ? 0 : 1));
  OpKind kind = mirrored ? ir::Mirrored(op->kind()) : op->kind();
  if (!holds) kind = ir::Negated(kind);
  if (!number || kind == OpKind::Ne) return {Reach::Kind::All};
  const BlockFacts& block = e_.blocks.at(body_.elementwise()->operand(axis_));
  auto clamped = [&](Value* from, Value* to) { return e_.b.Max(e_.b.Min(number, to), from); };
  Value* end = e_.b.Add(block.start, block.size);
  Value* one = e_.b.I64(1);
  // `at` is the first position that is not below the number, and `above` is the first one above it.
  auto at = [&] { return e_.b.Sub(clamped(block.start, end), block.start); };
  auto above = [&] {
    Value* before = e_.b.Sub(block.start, one);
    Value* last = e_.b.Sub(end, one);
    Value* after = e_.b.Add(clamped(before, last), one);
    return e_.b.Sub(after, block.start);
  };
  Value* zero = e_.b.I64(0);
  switch (kind) {
    case OpKind::Eq:
      return {Reach::Kind::Part, at(), above(), true};
    case OpKind::Lt:
      return {Reach::Kind::Part, zero, at()};
    case OpKind::Le:
      return {Reach::Kind::Part, zero, above()};
    case OpKind::Gt:
      return {Reach::Kind::Part, above(), block.size};
    default:
      return {Reach::Kind::Part, at(), block.size};
  }
}

/// Whether it saves time to narrow the range of the loop. A few chunks without a loop are as fast as a loop
/// with variable bounds.
bool Changes::IsWorthwhile(const Reach& reach) const {
  if (reach.kind != Reach::Kind::Part) return false;
  bool is_last = axis_ + 1 == body_.axes().size();
  return !is_last || reach.is_point || e_.Extent(body_.axes()[axis_]) > kFewChunks * body_.Lanes();
}

void Changes::Narrow(size_t i, size_t mapped) {
  ir::AxisId axis = body_.axes()[i];
  if (kept_.empty() || windows_.contains(axis)) return;
  axis_ = i;
  mapped_ = mapped;
  Reach reach{Reach::Kind::None};
  const Op* yield = body_.elementwise()->region()->terminator();
  for (size_t r = 0; r < kept_.size(); ++r)
    reach = Either(reach, OfValue(yield->operand(r), kept_[r], 0));
  if (!IsWorthwhile(reach)) return;
  int64_t lanes = i + 1 == body_.axes().size() ? body_.Lanes() : 1;
  Value* size = e_.blocks.at(body_.elementwise()->operand(i)).size;
  int64_t known = ConstantOf(size).value_or(0);
  bool is_one_chunk = reach.is_point && known > 0 && known % lanes == 0;
  windows_[axis] = is_one_chunk ? OneChunk(reach, known, lanes) : WholeChunks(reach, size, lanes);
}

/// Returns the chunk that contains the only position at which something may change. If that position is out
/// of bounds, any chunk will do, because nothing changes.
Window Changes::OneChunk(const Reach& reach, int64_t size, int64_t lanes) {
  Value* at = e_.b.Min(reach.lo, e_.b.I64(size - 1));
  Value* lo = lanes > 1 ? RoundDown(e_, at, lanes) : at;
  Value* count = e_.b.I64(lanes);
  return {lo, e_.b.Add(lo, count), count};
}

/// Returns whole chunks, aligned like those of the whole axis, that contain all positions at which something
/// may change. Store-to-load forwarding is fast only if the store and the load access the same address.
Window Changes::WholeChunks(const Reach& reach, Value* size, int64_t lanes) {
  Value* lo = reach.lo;
  Value* hi = reach.hi;
  if (lanes > 1) {
    lo = RoundDown(e_, lo, lanes);
    hi = RoundDown(e_, e_.b.Add(hi, e_.b.I64(lanes - 1)), lanes);
    hi = e_.b.Min(hi, size);
  }
  hi = e_.b.Max(hi, lo);
  return {lo, hi, e_.b.Sub(hi, lo)};
}

}  // namespace kdl::cpu
