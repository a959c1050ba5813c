#include "targets/cpu/expand/elementwise_rows.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/interior.h"
#include "targets/cpu/expand/in_place.h"
#include "targets/cpu/expand/lane_folds.h"

// Emits the rows of an elementwise loop: chunks of the last axis whose body runs once for each chunk. Ops that
// do not vary along that axis run before the innermost loop. The loops carry the accumulators of reductions. A
// body that cannot run on vectors, for example because it gathers, runs element by element.

namespace kdl::cpu {

namespace {

/// Returns how many chunks an iteration over full chunks processes: two if the body is so short that the loop itself
/// matters, and at least a cache line, whose prefetches matter as well. Elements of narrow types need even less time.
int64_t ChunksTogether(const ElementwiseLoopBody& body, int64_t lanes) {
  constexpr int64_t kShort = 16;  // ops
  constexpr int64_t kLong = 32;
  constexpr int64_t kWideBytes = 4;
  int64_t ops = 0;
  for (const Op* op : *body.elementwise()->region()) {
    if (!op->regions().empty()) return 1;
    if (!body.last().IsInvariant(op)) ++ops;
  }
  if (lanes == 1 || ops > kLong) return 1;
  int64_t bytes = body.last().Bytes();
  int64_t line = body.e().facts.cache_line_bytes;
  int64_t all = ops <= kShort && bytes < kWideBytes ? 2 * line : line;
  return std::max<int64_t>(all / (lanes * bytes), bytes < kWideBytes ? 1 : 2);
}

}  // namespace

ElementwiseRows::ElementwiseRows(ElementwiseLoopBody& body)
    : e_(body.e()),
      body_(body),
      axis_(body.axes().back()),
      lanes_(body.Lanes()),
      together_(ChunksTogether(body, lanes_)) {
  if (body.folds().empty()) streaming_ = StreamingOf(body, lanes_);
}

ElementwiseRows ElementwiseRows::ForBorder(ElementwiseLoopBody& body) {
  ElementwiseRows rows(body);
  rows.StopStreaming();
  rows.together_ = 1;
  rows.is_border_ = true;
  if (HasSlowMasks(body.elementwise(), rows.e_.facts)) rows.lanes_ = 1;
  return rows;
}

ElementwiseRows ElementwiseRows::ForFewRows(ElementwiseLoopBody& body, int64_t lanes) {
  ElementwiseRows rows(body);
  rows.StopStreaming();
  rows.together_ = 1;
  rows.lanes_ = lanes;
  rows.is_few_ = true;
  return rows;
}

void ElementwiseRows::ExpandRows() {
  if (!body_.folds().empty()) return RunFolds();
  ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
  Changes changes(body_);
  for (size_t i = 0; i < around.size(); ++i) changes.Narrow(i, 0);
  auto window = [&](AxisId axis) { return changes.NarrowedWindow(axis); };
  MakeElementwiseLoop(e_, window, around, body_.position(), [&] {
    BeginRow();
    changes.Narrow(around.size(), around.size());
    Window row = window(axis_);
    bool is_whole = row.size == e_.WindowOf(body_.elementwise(), axis_).size;
    body_.FillRows(is_whole && !streaming_.large);
    RunRow(row);
    body_.FillRows(false);
  });
}

void ElementwiseRows::ExpandFolds(ElementwiseLoopBody& inner, RowInterior& interior) {
  inner_ = &inner;
  interior_ = &interior;
  RunFolds();
}

void ElementwiseRows::BeginRow() {
  for (size_t i = 0; i + 1 < body_.axes().size(); ++i) body_.MapPoint(i);
  body_.Expand({}, [&](const Op* op) { return body_.last().IsInvariant(op); });
}

void ElementwiseRows::RunRow(const Window& window) {
  if (is_border_) return RunChunks(window);
  if (lanes_ == 1 && body_.last().Gathers()) return RunGathered(body_, window);
  std::unordered_set<const Op*> checked = CheckedAlongRow(body_);
  if (lanes_ == 1 || checked.empty()) return RunChunks(window);
  Value* inside = IsRowInside(body_, checked, window);
  MakeIf(
      e_.b, inside, [&] { body_.WithoutChecks(checked, [&] { RunChunks(window); }); },
      [&] { RunChunks(window); });
}

void ElementwiseRows::RunChunks(const Window& window) {
  if (streaming_.large) return RunStreamed(window);
  body_.HoistRemainders(window.lo, lanes_);
  MakeChunks(e_, axis_, window, lanes_, body_.position(), Body(), !TouchesTensors());
  body_.ForgetRemainders();
}

void ElementwiseRows::RunWithoutMasks(const Window& window, bool has_rest) {
  Value* end = streaming_.large ? StreamFullChunks(window, [&](Value*) { RunChunkAt(window.lo); })
                                : FullChunks(window.lo, window.hi);
  if (!has_rest) return;
  MakeIf(e_.b, e_.b.Lt(end, window.hi), [&] { RunChunkAt(e_.b.Sub(window.hi, e_.b.I64(lanes_))); });
}

void ElementwiseRows::RunBorders(const Window& row, const Window& vectors) {
  // One loop runs both borders: first the chunks that start before `turn`, then those after the vectors.
  Value* before = e_.b.Add(e_.b.Sub(vectors.lo, row.lo), e_.b.I64(lanes_ - 1));
  Value* turn = e_.b.Add(row.lo, RoundDown(e_, before, lanes_));
  Value* skipped = e_.b.Sub(vectors.hi, turn);
  MakeLoop(e_.b, {row.lo, e_.b.Sub(row.hi, skipped), lanes_}, [&](Value* index) {
    Value* is_before = e_.b.Lt(index, turn);
    Value* begin = e_.b.Add(index, e_.b.Select(is_before, e_.b.I64(0), skipped));
    Value* end = e_.b.Select(is_before, vectors.lo, row.hi);
    body_.position()[axis_] = begin;
    RunChunk(ChunkOf(e_, e_.b.Sub(end, begin), lanes_), [] {});
  });
}

Window ElementwiseRows::FullVectors(const Window& row, const Window& inside) {
  auto from_start = [&] {
    Value* before = e_.b.Add(e_.b.Sub(inside.lo, row.lo), e_.b.I64(lanes_ - 1));
    return e_.b.Add(row.lo, RoundDown(e_, before, lanes_));
  };
  Value* lo = FirstVector(from_start, inside);
  lo = e_.b.Min(lo, inside.hi);  // the interior may be shorter than a vector
  Value* size = RoundDown(e_, e_.b.Sub(inside.hi, lo), lanes_);
  return {lo, e_.b.Add(lo, size), size};
}

Value* ElementwiseRows::FirstVector(const std::function<Value*()>& first, const Window& inside) {
  if (!streaming_.large) return first();
  ir::Type number = e_.ScalarType(Scalar::I64);
  auto aligned = [&]() -> Values {
    RowStart start = StartAt(inside.lo);
    Value* agrees = start.agrees ? start.agrees : e_.b.Bool(true);
    return {e_.b.Add(inside.lo, start.gap), agrees};
  };
  auto otherwise = [&]() -> Values { return {first(), e_.b.Bool(false)}; };
  Values chosen =
      MakeIf(e_.b, streaming_.large, {number, e_.ScalarType(Scalar::Bool)}, aligned, otherwise);
  streams_ = chosen[1];
  return chosen[0];
}

Value* ElementwiseRows::FirstVectorUpTo(Value* most, const Window& inside) {
  Value* first = FirstVector([&] { return most; }, inside);
  if (streams_) streams_ = e_.b.And(streams_, e_.b.Le(first, most));
  return streams_ ? e_.b.Min(first, most) : first;
}

void ElementwiseRows::RunCovering(Value* from, Value* to, Value* last) {
  bool has_pairs = together_ > 1 && e_.Extent(axis_) >= 2 * together_ * lanes_;
  auto run = [&]() -> Values { return {FullChunks(from, to)}; };
  auto run_past_caches = [&]() -> Values {
    body_.StorePastCaches(streaming_.stores);
    Value* end = FullChunks(from, to);
    body_.StorePastCaches({});
    return {end};
  };
  // The loop of the rest can run all vectors. Another one is only for vectors that run in another way.
  bool is_enough = is_few_ || !(has_pairs || body_.maxima().are_worthwhile());
  auto skip = [&]() -> Values { return {from}; };
  leaves_rest_ = has_pairs;
  Value* end = from;
  if (streams_) {
    ir::Type number = e_.ScalarType(Scalar::I64);
    end = is_enough ? MakeIf(e_.b, streams_, {number}, run_past_caches, skip)[0]
                    : MakeIf(e_.b, streams_, {number}, run_past_caches, run)[0];
  } else if (!is_enough) {
    end = run()[0];
  }
  leaves_rest_ = false;
  if (!last) body_.HoistRemainders(end, lanes_);
  MakeLoop(e_.b, {end, to, lanes_},
           [&](Value* index) { RunChunkAt(last ? e_.b.Min(index, last) : index); });
  body_.ForgetRemainders();
}

void ElementwiseRows::RunMasked(const Window& row) {
  MakeLoop(e_.b, {row.lo, row.hi, lanes_}, [&](Value* index) { RunMaskedAt(index, row.hi); });
}

void ElementwiseRows::RunMaskedAt(Value* position, Value* end) {
  body_.position()[axis_] = position;
  RunChunk(ChunkOf(e_, e_.b.Sub(end, position), lanes_), [] {});
}

void ElementwiseRows::RunFullVectors(const Window& vectors) {
  auto run = [&] { FullChunks(vectors.lo, vectors.hi); };
  if (!streams_) return run();
  auto run_past_caches = [&] {
    body_.StorePastCaches(streaming_.stores);
    run();
    body_.StorePastCaches({});
  };
  MakeIf(e_.b, streams_, run_past_caches, run);
}

bool ElementwiseRows::TouchesTensors() const {
  for (const Op* op : *body_.elementwise()->region()) {
    if (op->HasAttr(ir::AttrKey::BoundsMode)) return true;
  }
  return false;
}

std::function<void(const Chunk&)> ElementwiseRows::Body() {
  return [this](const Chunk& chunk) { RunChunk(chunk, [] {}); };
}

void ElementwiseRows::RunFolds() {
  const std::vector<Accumulation>& made = body_.folds();
  int64_t bytes = body_.last().Bytes();
  for (const Accumulation& fold : made) {
    if (!AddsIntegers(fold)) bytes = std::max<int64_t>(bytes, Bytes(fold.acc));
  }
  LaneWalk walk{.folds = made, .bytes = bytes, .position = body_.position(), .kept = body_.axes()};
  walk.may_repeat = MayRepeat();
  walk.row = [&] { BeginRow(); };
  walk.may_be_faster = [&] { return body_.AreBitsOrdinary(); };
  walk.set_faster = [&](bool faster) { body_.CompareNumbers(faster); };
  walk.terms = [&](const Chunk& chunk, int64_t before) {
    body_.ComeTo(before);
    std::vector<Values> terms;
    RunChunk(chunk, [&] { terms = Terms(); });
    return terms;
  };
  if (inner_) RunInside(walk);
  walk.kept.resize(walk.kept.size() - made[0].folded.size());
  if (walk.kept.empty()) {
    Values folded = ReduceInLoopLanes(e_, walk);
    size_t number = 0;
    for (const Value* result : FoldResults()) e_.scalars[result] = folded[number++];
    return;
  }
  for (const Value* result : FoldResults()) walk.tile_buffers.push_back(TileBufferOf(e_, result));
  if (!inner_) walk.together = ComeFromMemory();
  FoldAllInLanes(e_, walk);
}

void ElementwiseRows::RunInside(LaneWalk& walk) {
  walk.row = [&] {
    BeginRow();
    inner_->position() = body_.position();
    ElementwiseRows(*inner_).BeginRow();
    inside_ = InsideOfRow();
  };
  walk.inside = [&] { return inside_; };
  walk.set_inside = [&](bool is_inside) { is_inside_ = is_inside; };
  walk.set_faster = [&](bool faster) {
    body_.CompareNumbers(faster);
    inner_->CompareNumbers(faster);
  };
  bool has_slow_masks = HasSlowMasks(body_.elementwise(), e_.facts);
  auto anywhere = walk.terms;
  walk.terms = [&, anywhere, has_slow_masks](const Chunk& chunk, int64_t before) {
    if (is_inside_) return TermsInside(chunk, before);
    if (!has_slow_masks || chunk.mask) return anywhere(chunk, before);
    return TermsOfBorder(chunk, before, anywhere);
  };
}

Window ElementwiseRows::InsideOfRow() {
  Value* zero = e_.b.I64(0);
  Value* size = e_.Facts(body_.folds()[0].op, axis_).size;
  auto [lo, hi, exists] = interior_->PartOf({zero, size, size}, e_.b.Bool(true));
  lo = e_.b.Select(exists, lo, zero);
  hi = e_.b.Select(exists, hi, zero);
  return {lo, hi, e_.b.Sub(hi, lo)};
}

std::vector<Values> ElementwiseRows::TermsOfBorder(const Chunk& chunk, int64_t before,
                                                   const ChunkTerms& anywhere) {
  std::vector<ir::Type> types;
  for (const Accumulation& fold : body_.folds()) {
    for (const Value* operand : fold.operands)
      types.push_back(e_.VectorType(operand->type()->scalar, chunk.lanes));
  }
  auto flat = [&](const std::vector<Values>& terms) {
    Values all;
    for (const Values& of_fold : terms) {
      for (Value* term : of_fold) all.push_back(e_.b.Splat(term, chunk.lanes));
    }
    return all;
  };
  Value* position = body_.position().at(axis_);
  Value* end = e_.b.Add(position, e_.b.I64(chunk.lanes));
  Value* is_before = e_.b.Le(end, inside_.hi);
  Value* is_inside = e_.b.And(e_.b.Ge(position, inside_.lo), is_before);
  Values chosen = MakeIf(
      e_.b, is_inside, types, [&] { return flat(TermsInside(chunk, before)); },
      [&] { return flat(anywhere(chunk, before)); });
  std::vector<Values> terms;
  auto next = chosen.begin();
  for (const Accumulation& fold : body_.folds()) {
    auto after = next + static_cast<std::ptrdiff_t>(fold.operands.size());
    terms.emplace_back(next, after);
    next = after;
  }
  return terms;
}

std::vector<Values> ElementwiseRows::TermsInside(const Chunk& chunk, int64_t before) {
  std::vector<Values> terms;
  inner_->position() = body_.position();
  inner_->ComeTo(before);
  inner_->Locally([&] {
    inner_->MapPoint(inner_->axes().size() - 1);
    inner_->Expand(chunk, [&](const Op* op) { return !inner_->last().IsInvariant(op); });
    for (const Op* op : *inner_->elementwise()->region()) {
      if (op->kind() != OpKind::ReduceInLoop) continue;
      terms.emplace_back();
      for (Value* term : op->Segment(ir::ReduceInLoopOp::at_terms))
        terms.back().push_back(inner_->Term(term));
    }
  });
  return terms;
}

bool ElementwiseRows::IsSimple() const {
  constexpr size_t kMostOps = 8;
  size_t ops = 0;
  for (const Op* op : *body_.elementwise()->region()) {
    if (op->kind() == OpKind::Yield || op->kind() == OpKind::ReduceInLoop) continue;
    bool simple = op->kind() == OpKind::Load || op->info().has(ir::kPure);
    if (!simple || !op->regions().empty() || ++ops > kMostOps) return false;
  }
  return true;
}

bool ElementwiseRows::MayRepeat() const {
  bool keeps_tile = std::ranges::any_of(
      body_.tile_buffers(), [](const TileBuffer& tile) { return tile.buffer != nullptr; });
  return IsSimple() && !keeps_tile &&
         std::ranges::none_of(body_.folds(), [](const auto& fold) { return fold.into != nullptr; });
}

Value* ElementwiseRows::ComeFromMemory() {
  if (e_.facts.asks_for_reads || !IsSimple()) return nullptr;
  std::vector<const Op*> loads;
  for (const Op* op : *body_.elementwise()->region()) {
    if (op->kind() == OpKind::Load) loads.push_back(op);
  }
  bool again = std::ranges::any_of(
      loads, [&](const Op* load) { return e_.rereads.HasRowsOf(TensorOf(load)); });
  return loads.empty() || again ? nullptr : AreLarge(e_, loads);
}

std::vector<const Value*> ElementwiseRows::FoldResults() const {
  std::vector<const Value*> all;
  for (const Accumulation& fold : body_.folds()) {
    const ir::Use& use = fold.op->result()->uses()[0];
    all.push_back(body_.elementwise()->result(use.operand));
  }
  return all;
}

std::vector<Values> ElementwiseRows::Terms() {
  std::vector<Values> terms;
  for (const Accumulation& fold : body_.folds()) {
    terms.emplace_back();
    for (Value* operand : fold.operands) terms.back().push_back(body_.Term(operand));
  }
  return terms;
}

Value* ElementwiseRows::FullChunks(Value* from, Value* to) {
  WatchedMaxima& maxima = body_.maxima();
  if (lanes_ == 1 || !maxima.are_worthwhile()) return RunFullChunks(from, to);
  body_.watched = {maxima.Start(lanes_)};
  Value* end = RunFullChunks(from, to);
  Value* is_exact = maxima.Stop(body_.watched[0]);
  body_.watched.clear();
  MakeIf(e_.b, is_exact, [] {}, [&] { RunIterations(from, to, 1); });
  return end;
}

Value* ElementwiseRows::RunFullChunks(Value* from, Value* to) {
  bool is_long = e_.Extent(axis_) >= 2 * together_ * lanes_;
  body_.HoistRemainders(from, lanes_);
  if (together_ > 1 && is_long) from = RunIterations(from, to, together_);
  if (!leaves_rest_) from = RunIterations(from, to, 1);
  body_.ForgetRemainders();
  return from;
}

Value* ElementwiseRows::RunIterations(Value* from, Value* to, int64_t chunks) {
  int64_t step = chunks * lanes_;
  Value* end = e_.b.Add(from, RoundDown(e_, e_.b.Sub(to, from), step));
  auto run = [&](Value* first, const Values& watched) {
    body_.watched = watched;
    for (int64_t before = 0; before < step; before += lanes_) {
      body_.ComeTo(before);
      RunChunkAt(before == 0 ? first : e_.b.Add(first, e_.b.I64(before)));
    }
    body_.ComeTo(0);
    return body_.watched;
  };
  body_.watched = MakeLoop(e_.b, {from, end, step}, body_.watched, run);
  return end;
}

void ElementwiseRows::RunChunkAt(Value* position) {
  body_.position()[axis_] = position;
  Body()({lanes_});
}

void ElementwiseRows::RunStreamed(const Window& row) {
  Value* end = StreamFullChunks(row, [&](Value* aligned) {
    MakeRestOfChunks(e_, {axis_, row.lo, aligned}, lanes_, body_.position(), Body());
  });
  MakeRestOfChunks(e_, {axis_, end, row.hi}, lanes_, body_.position(), Body());
}

RowStart ElementwiseRows::StartAt(Value* position) {
  RowStart start;
  body_.Locally([&] {
    body_.position()[axis_] = position;
    body_.MapPoint(body_.axes().size() - 1);
    start = RowStartOf(body_, streaming_);
  });
  return start;
}

Value* ElementwiseRows::StreamFullChunks(const Window& row,
                                         const std::function<void(Value*)>& before) {
  RowStart start = StartAt(row.lo);
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

}  // namespace kdl::cpu
