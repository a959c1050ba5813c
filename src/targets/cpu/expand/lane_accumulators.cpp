#include "targets/cpu/expand/lane_accumulators.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/op_kind.h"
#include "targets/cpu/expand/fold_notes.h"

namespace kdl::cpu {

namespace {

// The number of vectors of accumulators if the order cannot be observed.
constexpr int64_t kAnyOrderVectors = 4;
// The number of vectors that record NaN, so that consecutive terms do not wait for each other.
constexpr size_t kWatches = 2;

bool IsExtremumOfIntegers(const Accumulation& fold) {
  const ir::Attr* kind = fold.op->FindAttr(AttrKey::Reduction);
  if (!kind || !IsInteger(fold.acc)) return false;
  auto reduction = fold.op->attr<AttrKey::Reduction>();
  return reduction == ir::ReductionKind::Max || reduction == ir::ReductionKind::Min;
}

/// Returns the number of lanes in a vector. A short row of integers does not need vectors of several registers.
int64_t LaneWidth(const Expander& e, const LaneWalk& walk) {
  int64_t width = e.facts.vector_bits / 8 / walk.bytes;
  int64_t least = width;
  for (const Accumulation& fold : walk.folds)
    least = std::min<int64_t>(least, e.facts.vector_bits / 8 / Bytes(fold.acc));
  auto extent = static_cast<uint64_t>(std::max<int64_t>(e.Extent(walk.folds[0].folded.back()), 1));
  width = std::max(least, std::min(width, static_cast<int64_t>(std::bit_ceil(extent))));
  return std::min(kLanes, width);
}

}  // namespace

LaneAccumulators::LaneAccumulators(Expander& e, const LaneWalk& walk)
    : e_(e), walk_(walk), width_(LaneWidth(e, walk)) {
  NoteAccumulators(e, walk.folds[0].op, walk.folds.size() * vectors());
}

size_t LaneAccumulators::vectors() const {
  return static_cast<size_t>(std::min(in_any_order() ? kAnyOrderVectors : kLanes, kLanes / width_));
}

bool LaneAccumulators::in_any_order() const {
  return std::ranges::all_of(walk_.folds, [this](const Accumulation& fold) {
    return IsExtremumOfIntegers(fold) || Watches(fold);
  });
}

Values LaneAccumulators::Identities() const {
  Values all;
  for (const Accumulation& fold : walk_.folds) all.push_back(fold.identity);
  return all;
}

Values LaneAccumulators::Starts() {
  Values starts;
  for (const Accumulation& fold : walk_.folds) {
    Values lanes = Start(fold);
    starts.insert(starts.end(), lanes.begin(), lanes.end());
  }
  return starts;
}

Values LaneAccumulators::Start(const Accumulation& fold) {
  Values lanes(vectors(), e_.b.Splat(fold.identity, width_));
  if (Watches(fold)) {
    Value* none = e_.b.Splat(e_.b.Int(WatchType(fold)->scalar, 0), width_);
    lanes.resize(Slots(fold), none);
  }
  if (fold.into) {
    Value* into = ReadAt(e_, fold.into, walk_.position);
    lanes[0] = e_.b.Select(ChunkOf(e_, e_.b.I64(1), width_).mask, into, lanes[0]);
  }
  return lanes;
}

void LaneAccumulators::AccumulateChunk(std::span<Value*> lanes, int64_t skipped,
                                       const Chunk& chunk) {
  std::vector<Values> terms = walk_.terms(chunk, skipped);
  size_t vector = static_cast<size_t>(skipped / width_) % vectors();
  auto lane = lanes.begin() + static_cast<std::ptrdiff_t>(vector);
  for (size_t i = 0; i < walk_.folds.size(); ++i) {
    const Accumulation& fold = walk_.folds[i];
    for (Value*& term : terms[i]) term = e_.b.Cast(e_.b.Splat(term, width_), fold.acc);
    auto keep = [&](Value*& before, Value* after) {
      before = chunk.mask ? e_.b.Select(chunk.mask, after, before) : after;
    };
    if (Watches(fold)) {
      Value*& watch = *(lane - static_cast<std::ptrdiff_t>(vector) +
                        static_cast<std::ptrdiff_t>(vectors() + vector % kWatches));
      keep(watch, Watch(fold, watch, terms[i][0]));
      keep(*lane, Extremum(fold, terms[i][0], *lane));
    } else {
      keep(*lane, fold.step(*lane, terms[i]));
    }
    lane += static_cast<std::ptrdiff_t>(Slots(fold));
  }
}

Values LaneAccumulators::Finished(std::span<Value* const> lanes) {
  Values results;
  auto first = lanes.begin();
  for (const Accumulation& fold : walk_.folds) {
    auto after = first + static_cast<std::ptrdiff_t>(vectors());
    results.push_back(Finish(fold, Values(first, after)));
    first = after;
  }
  return results;
}

Value* LaneAccumulators::Finish(const Accumulation& fold, Values lanes) {
  return CombineLanes(e_, std::move(lanes), fold.combine);
}

bool LaneAccumulators::may_watch() const {
  return walk_.may_repeat &&
         std::ranges::any_of(walk_.folds, [this](const auto& fold) { return MayWatch(fold); });
}

bool LaneAccumulators::MayWatch(const Accumulation& fold) const {
  const ir::Attr* kind = fold.op->FindAttr(AttrKey::Reduction);
  if (!kind || e_.facts.has_exact_extrema || !IsFloat(fold.acc)) return false;
  auto reduction = fold.op->attr<AttrKey::Reduction>();
  return reduction == ir::ReductionKind::Max || reduction == ir::ReductionKind::Min;
}

size_t LaneAccumulators::Slots(const Accumulation& fold) const {
  return vectors() + (Watches(fold) ? kWatches : 0);
}

ir::Type LaneAccumulators::WatchType(const Accumulation& fold) {
  return e_.VectorType(Bytes(fold.acc) == 4 ? Scalar::I32 : Scalar::I64, width_);
}

Value* LaneAccumulators::Extremum(const Accumulation& fold, Value* a, Value* b) {
  bool largest = fold.op->attr<AttrKey::Reduction>() == ir::ReductionKind::Max;
  return e_.b.Select(largest ? e_.b.Gt(a, b) : e_.b.Lt(a, b), a, b);
}

Value* LaneAccumulators::Watch(const Accumulation& fold, Value* before, Value* term) {
  Scalar scalar = WatchType(fold)->scalar;
  Value* all = e_.b.Splat(e_.b.Int(scalar, -1), width_);
  Value* none = e_.b.Splat(e_.b.Int(scalar, 0), width_);
  return e_.b.Or(before, e_.b.Select(e_.b.Ne(term, term), all, none));
}

Values LaneAccumulators::FinishedQuickly(std::span<Value* const> lanes, Value*& is_exact) {
  Values results;
  auto first = lanes.begin();
  for (const Accumulation& fold : walk_.folds) {
    auto after = first + static_cast<std::ptrdiff_t>(vectors());
    if (!Watches(fold)) {
      results.push_back(Finish(fold, Values(first, after)));
      first = after;
      continue;
    }
    auto end = after + static_cast<std::ptrdiff_t>(kWatches);
    auto extremum = [&](Value* a, Value* b) { return Extremum(fold, a, b); };
    auto any = [this](Value* a, Value* b) { return e_.b.Or(a, b); };
    results.push_back(CombineLanes(e_, Values(first, after), extremum));
    Value* nan = CombineLanes(e_, Values(after, end), any);
    Value* no_nan = e_.b.Eq(nan, e_.b.Int(nan->type()->scalar, 0));
    Value* no_zero = e_.b.Ne(results.back(), e_.b.Bits(fold.acc, 0));
    Value* exact = e_.b.And(no_nan, no_zero);
    is_exact = is_exact ? e_.b.And(is_exact, exact) : exact;
    first = end;
  }
  return results;
}

Value* CombineLanes(Expander& e, Values lanes,
                    const std::function<Value*(Value*, Value*)>& combine) {
  for (size_t vectors = lanes.size(); vectors > 1; vectors /= 2) {
    for (size_t v = 0; v < vectors / 2; ++v) lanes[v] = combine(lanes[v], lanes[v + vectors / 2]);
  }
  Value* folded = lanes[0];
  while (ir::IsVector(folded->type())) {
    ir::Type half = e.VectorType(folded->type()->scalar, ir::Lanes(folded->type()) / 2);
    auto part = [&](int64_t number) {
      return e.b.Make(OpKind::Half, {folded}, half, {ir::MakeAttr<AttrKey::Part>(number)});
    };
    Value* low = part(0);
    folded = combine(low, part(1));
  }
  return folded;
}

}  // namespace kdl::cpu
