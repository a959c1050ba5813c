#include <algorithm>

#include "ir/op_info.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/interior.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/in_place.h"
#include "targets/cpu/expand/lane_folds.h"

// Expands an elementwise loop into loops whose body runs once for each chunk of the last axis. Ops that do
// not vary along that axis run before the innermost loop. The loops carry the accumulators of reductions. A
// body that cannot run on vectors, for example because it gathers, runs element by element.

namespace kdl::cpu {

namespace {

/// Whether the body has masked accesses that run lane by lane when it runs where elements may be out of
/// bounds.
bool HasSlowMasks(const ElementwiseLoopBody& body) {
  for (const Op* op : *body.elementwise()->region()) {
    if (!op->HasAttr(AttrKey::BoundsMode)) continue;
    if (Bytes(TensorOf(op)->type()->scalar) < body.e().facts.least_masked_bytes) return true;
  }
  return false;
}

/// Emits an elementwise loop row by row.
class Rows {
 public:
  explicit Rows(ElementwiseLoopBody& body)
      : e_(body.e()), body_(body), axis_(body.axes().back()), lanes_(body.Lanes()) {
    if (body.folds().empty()) streaming_ = StreamingOf(body, lanes_);
  }

  /// Makes a `Rows` for the border around an interior. Borders are small, so their stores do not bypass the
  /// caches. A border runs element by element if masked accesses are slow.
  static Rows ForBorder(ElementwiseLoopBody& body) {
    Rows rows(body);
    rows.StopStreaming();
    if (HasSlowMasks(body)) rows.lanes_ = 1;
    return rows;
  }

  void ExpandRows() {
    if (!body_.folds().empty()) return RunFolds();
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
    Changes changes(body_);
    for (size_t i = 0; i < around.size(); ++i) changes.Narrow(i, 0);
    auto window = [&](AxisId axis) { return changes.NarrowedWindow(axis); };
    MakeElementwiseLoop(e_, window, around, body_.position(), [&] {
      BeginRow();
      changes.Narrow(around.size(), around.size());
      RunRow(window(axis_));
    });
  }

  /// Expands the ops whose results are the same for a whole row.
  void BeginRow() {
    for (size_t i = 0; i + 1 < body_.axes().size(); ++i) body_.MapPoint(i);
    body_.Expand({}, [&](const Op* op) { return body_.last().IsInvariant(op); });
  }

  /// Emits the chunks of a row, or of a part of it.
  void RunRow(const Window& window) {
    if (streaming_.large) return RunStreamed(window);
    MakeChunks(e_, axis_, window, lanes_, body_.position(), Body(), !TouchesTensors());
  }

  /// Emits the chunks of a part of a row that has at least one full chunk. If elements are left after the
  /// full chunks, the last chunk is not masked, but computes some elements a second time.
  void RunWithoutMasks(const Window& window) {
    Value* end = streaming_.large ? StreamFullChunks(window, [&](Value*) { RunChunkAt(window.lo); })
                                  : FullChunks(window.lo, window.hi);
    MakeIf(e_.b, e_.b.Lt(end, window.hi),
           [&] { RunChunkAt(e_.b.Sub(window.hi, e_.b.I64(lanes_))); });
  }

  /// From now on, no store bypasses the caches.
  void StopStreaming() { streaming_ = {}; }

 private:
  bool TouchesTensors() const {
    for (const Op* op : *body_.elementwise()->region()) {
      if (op->HasAttr(ir::AttrKey::BoundsMode)) return true;
    }
    return false;
  }

  /// Expands the rest of the body for one chunk, then calls `after`.
  template <class After>
  void RunChunk(const Chunk& chunk, After&& after) {
    body_.Locally([&] {
      body_.MapPoint(body_.axes().size() - 1);
      body_.Expand(chunk, [&](const Op* op) { return !body_.last().IsInvariant(op); });
      after();
    });
  }

  std::function<void(const Chunk&)> Body() {
    return [this](const Chunk& chunk) { RunChunk(chunk, [] {}); };
  }

  /// Emits loops that also carry the accumulators of the reductions.
  void RunFolds() {
    const std::vector<Accumulation>& made = body_.folds();
    int64_t bytes = body_.last().Bytes();
    for (const Accumulation& fold : made) bytes = std::max<int64_t>(bytes, Bytes(fold.acc));
    LaneWalk walk{
        .folds = made, .bytes = bytes, .position = body_.position(), .kept = body_.axes()};
    walk.row = [&] { BeginRow(); };
    walk.terms = [&](const Chunk& chunk, int64_t before) {
      body_.ComeTo(before);
      std::vector<Values> terms;
      RunChunk(chunk, [&] { terms = Terms(); });
      return terms;
    };
    walk.kept.resize(walk.kept.size() - made[0].folded.size());
    if (walk.kept.empty()) {
      Values folded = ReduceInLoopLanes(e_, walk);
      size_t number = 0;
      for (const Value* result : FoldResults()) e_.scalars[result] = folded[number++];
      return;
    }
    for (const Value* result : FoldResults()) walk.tile_buffers.push_back(TileBufferOf(e_, result));
    walk.together = ComeFromMemory();
    FoldAllInLanes(e_, walk);
  }

  /// Emits the condition that rows come from memory rather than from a cache, and that the body has few ops.
  /// In that case, hardware prefetchers work better along several rows than along one. Returns null if the
  /// condition is never true, for example if an earlier loop has left the rows in a cache, or if a later loop
  /// reads the same rows.
  Value* ComeFromMemory() {
    constexpr size_t kMostOps = 8;
    if (e_.facts.asks_for_reads) return nullptr;
    std::vector<const Op*> loads;
    size_t ops = 0;
    for (const Op* op : *body_.elementwise()->region()) {
      if (op->kind() == OpKind::Yield || op->kind() == OpKind::ReduceInLoop) continue;
      if (op->kind() == OpKind::Load) loads.push_back(op);
      bool simple = op->kind() == OpKind::Load || op->info().has(ir::kPure);
      if (!simple || !op->regions().empty() || ++ops > kMostOps) return nullptr;
    }
    bool again = std::ranges::any_of(
        loads, [&](const Op* load) { return e_.rereads.HasRowsOf(TensorOf(load)); });
    return loads.empty() || again ? nullptr : AreLarge(e_, loads);
  }

  /// Returns the results of the elementwise loop that its reductions compute, in the order of the reductions.
  std::vector<const Value*> FoldResults() const {
    std::vector<const Value*> all;
    for (const Accumulation& fold : body_.folds()) {
      const ir::Use& use = fold.op->result()->uses()[0];
      all.push_back(body_.elementwise()->result(use.operand));
    }
    return all;
  }

  /// Returns the terms that each reduction accumulates from the current chunk.
  std::vector<Values> Terms() {
    std::vector<Values> terms;
    for (const Accumulation& fold : body_.folds()) {
      terms.emplace_back();
      for (Value* operand : fold.operands) terms.back().push_back(body_.Term(operand));
    }
    return terms;
  }

  Value* FullChunks(Value* from, Value* to) {
    return MakeFullChunks(e_, {axis_, from, to}, lanes_, body_.position(), Body());
  }

  void RunChunkAt(Value* position) {
    body_.position()[axis_] = position;
    Body()({lanes_});
  }

  /// Emits code for the full vectors and then for the rest of the row.
  void RunStreamed(const Window& row) {
    Value* end = StreamFullChunks(row, [&](Value* aligned) {
      MakeRestOfChunks(e_, {axis_, row.lo, aligned}, lanes_, body_.position(), Body());
    });
    MakeRestOfChunks(e_, {axis_, end, row.hi}, lanes_, body_.position(), Body());
  }

  /// Emits code for the full vectors of a row and returns the position where they end. If the outputs are too
  /// large for the caches, the vectors bypass them, from the first aligned vector on. Then `before` emits the
  /// elements that precede the position of that vector.
  Value* StreamFullChunks(const Window& row, const std::function<void(Value*)>& before) {
    RowStart start;
    body_.Locally([&] {
      body_.position()[axis_] = row.lo;
      body_.MapPoint(body_.axes().size() - 1);
      start = RowStartOf(body_, streaming_);
    });
    Value* large = start.agrees ? e_.b.And(streaming_.large, start.agrees) : streaming_.large;
    return MakeIf(
        e_.b, large, {e_.ScalarType(Scalar::I64)},
        [&]() -> Values {
          Value* gap = e_.b.Min(start.gap, row.size);
          Value* aligned = e_.b.Add(row.lo, gap);
          before(aligned);
          body_.StorePastCaches(streaming_.stores);
          Value* end = FullChunks(aligned, row.hi);
          body_.StorePastCaches({});
          return {end};
        },
        [&]() -> Values { return {FullChunks(row.lo, row.hi)}; })[0];
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  ir::AxisId axis_;
  int64_t lanes_;
  Streaming streaming_;
};

/// Emits the rows of an elementwise loop in three parts: border, interior, border. The interior has a simpler
/// body and needs no masks. Both borders run the same code. If a row has no interior, the second border is
/// the whole row.
class InteriorRows {
 public:
  InteriorRows(ElementwiseLoopBody& body, ElementwiseLoopBody& inner, const Interior& interior)
      : e_(body.e()),
        body_(body),
        inner_(inner),
        interior_(interior),
        axis_(body.axes().back()),
        border_rows_(Rows::ForBorder(body)),
        inner_rows_(inner) {
    if (!interior.is_repeatable) inner_rows_.StopStreaming();
  }

  void ExpandRows() {
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
    MakeElementwiseLoop(e_, body_.elementwise(), around, body_.position(), [&] {
      inner_.position() = body_.position();
      border_rows_.BeginRow();
      inner_rows_.BeginRow();
      RunRow(e_.WindowOf(body_.elementwise(), axis_));
    });
  }

 private:
  void RunRow(const Window& row) {
    Window inside = InteriorOfRow(row);
    MakeLoop(e_.b, {e_.b.I64(0), e_.b.I64(2)}, [&](Value* side) {
      Value* before = e_.b.Eq(side, e_.b.I64(0));
      Value* from = e_.b.Select(before, row.lo, inside.hi);
      Value* to = e_.b.Select(before, inside.lo, row.hi);
      border_rows_.RunRow({from, to, e_.b.Sub(to, from)});
      Value* exists = e_.b.Gt(inside.size, e_.b.I64(0));
      MakeIf(e_.b, e_.b.And(before, exists), [&] { inner_rows_.RunWithoutMasks(inside); });
    });
  }

  /// Returns the part of the row that the simpler body computes. If that part is smaller than a vector,
  /// returns an empty part at the start of the row.
  Window InteriorOfRow(const Window& row) {
    Value* lo = row.lo;
    Value* hi = row.hi;
    Value* exists = e_.b.Bool(true);
    for (const PointCondition& condition : interior_.conditions) {
      Narrow(condition, lo, hi, exists);
    }
    Value* size = e_.b.Sub(hi, lo);
    if (!interior_.is_repeatable) size = RoundDown(e_, size, inner_.Lanes());
    exists = e_.b.And(exists, e_.b.Ge(size, e_.b.I64(inner_.Lanes())));
    lo = e_.b.Select(exists, lo, row.lo);
    size = e_.b.Select(exists, size, e_.b.I64(0));
    return {lo, e_.b.Add(lo, size), size};
  }

  /// Restricts the positions to those at which the condition is true.
  void Narrow(const PointCondition& condition, Value*& lo, Value*& hi, Value*& exists) {
    const Value* point = body_.elementwise()->region()->params().back();
    int64_t factor = 0;
    Value* rest = e_.b.I64(condition.constant);
    for (const auto& [size, times] : condition.sizes) {
      rest = e_.b.Add(rest, Times(e_.b.SizeValue(size), times));
    }
    bool may_wrap = false;
    for (const auto& [value, times] : condition.terms) {
      Value* start = e_.blocks.at(body_.elementwise()->operands().back()).start;
      Value* known = value == point ? start : body_.InRow(const_cast<Value*>(value));
      rest = e_.b.Add(rest, Times(e_.b.Cast(known, Scalar::I64), times));
      if (value == point) factor = times;
      may_wrap = may_wrap || !Contains(body_.elementwise()->region()->params(), value);
    }
    if (factor == 0) {
      exists = e_.b.And(exists, e_.b.Ge(rest, e_.b.I64(0)));
    } else if (may_wrap) {  // if the sum has wrapped around, the interior is taken to be empty
      exists = e_.b.And(exists, e_.b.Le(rest, e_.b.I64(kLargestSum)));
      exists = e_.b.And(exists, e_.b.Ge(rest, e_.b.I64(-kLargestSum)));
    }
    if (factor > 0) {
      Value* needed = e_.b.Sub(e_.b.I64(0), FloorDiv(rest, factor));
      lo = e_.b.Max(lo, needed);
    } else if (factor < 0) {
      Value* end = e_.b.Add(FloorDiv(rest, -factor), e_.b.I64(1));
      hi = e_.b.Min(hi, end);
    }
  }

  Value* Times(Value* value, int64_t factor) {
    return factor == 1 ? value : e_.b.Mul(value, e_.b.I64(factor));
  }
  Value* FloorDiv(Value* value, int64_t divisor) {
    return divisor == 1 ? value : e_.b.Div(value, e_.b.I64(divisor));
  }

  /// No tensor has more elements than this, so sums that do not exceed this limit can be added to positions
  /// without overflow.
  static constexpr int64_t kLargestSum = int64_t{1} << 62;

  Expander& e_;
  ElementwiseLoopBody& body_;
  ElementwiseLoopBody& inner_;
  const Interior& interior_;
  ir::AxisId axis_;
  Rows border_rows_;
  Rows inner_rows_;
};

/// Whether the interior should have its own code: its rows must run on vectors, and be so long that they do not
/// consist mostly of borders. If the whole loop does not run on vectors, the layouts of its results need not be
/// suitable for them.
bool IsWorthwhile(const ElementwiseLoopBody& body, const ElementwiseLoopBody& inner) {
  constexpr int64_t kLeastChunks = 2;
  bool has_layout = body.last().Vectorizes() || body.elementwise()->results().empty();
  return has_layout && inner.Lanes() > 1 &&
         body.e().Extent(body.axes().back()) >= kLeastChunks * inner.Lanes();
}

/// If an interior of the elementwise loop is worthwhile, expands the loop with separate code for the interior
/// and for the borders, and returns true. Otherwise, returns false.
bool ExpandInteriorRows(Expander& e, ElementwiseLoopBody& body) {
  std::optional<Interior> interior = InteriorOf(body.elementwise(), body.last());
  if (!interior) return false;
  Op* loop = MakeInteriorLoop(e.module, body.elementwise(), *interior);
  ElementwiseLoopBody inner(e, loop, body);
  bool expands = IsWorthwhile(body, inner);
  if (expands) InteriorRows(body, inner, *interior).ExpandRows();
  ir::Erase(loop);
  return expands;
}

}  // namespace

Value* ExpandInLanes(Expander& e, const Op* op, const std::function<Value*(Value*)>& operand) {
  Values operands;
  auto segments = SegmentsOf(op, [&](Value* old) {
    operands.push_back(operand(old));
    return operands.back();
  });
  ir::Type type = e.b.ElementwiseType(op->result()->type()->scalar, operands);
  return MakeOne(e.b, op->kind(), segments, type, op->attrs());
}

void ExpandElementwiseLoop(Expander& e, const Op* op) {
  ir::Loc outer = e.b.loc();
  if (const Value* tile = RegisterTileOf(e, op))
    return ExpandElementwiseLoopOnRegisters(e, op, tile);
  ElementwiseLoopBody body(e, op);
  if (MakesGroups(body)) {
    RunGroups(body);
  } else if (body.last().Transposes()) {
    RunRegisterTransposes(body);
  } else if (!ExpandInteriorRows(e, body)) {
    Rows(body).ExpandRows();
  }
  FillGroups(body);
  e.b.set_loc(outer);
}

void ExpandElementwiseLoopAt(Expander& e, const Op* op, const Position& position,
                             const Chunk& chunk, const Value* tile, Value* value) {
  ir::Loc outer = e.b.loc();
  ElementwiseLoopBody body(e, op);
  body.Give(tile, value);
  body.PlaceAt(position);
  body.Expand(chunk, [](const Op*) { return true; });
  e.b.set_loc(outer);
}

}  // namespace kdl::cpu
