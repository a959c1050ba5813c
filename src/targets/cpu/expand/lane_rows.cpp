#include "targets/cpu/expand/lane_rows.h"

#include <algorithm>

#include "passes/rewriting/rewrite.h"

// One loop carries the accumulators of all reductions.
//
//   loop %n in 0 .. size & -64 step 64 carry(lanes)     whole iterations: vector i accumulates elements n + i L …
//     if rest: vector 0 accumulates its elements, under a mask
//     if more than L: vector 1, …                       the elements after a multiple of 64
//
// For minima and maxima of integers, the elements that are left over are accumulated in the first vector, by a loop.
//
// Sums of integers are the same in any order, so their rows are summed one by one, and vectors can have as many
// lanes as fit terms into a register.

namespace kdl::cpu {

LaneRows::LaneRows(Expander& e, const LaneWalk& walk, LaneAccumulators& lanes)
    : e_(e),
      walk_(walk),
      lanes_(lanes),
      last_(walk.folds[0].folded.back()),
      adds_integers_(std::ranges::all_of(walk.folds, AddsIntegers)) {}

Values LaneRows::Fold() {
  if (adds_integers_) return FoldIntegers();
  if (!lanes_.may_watch()) return FoldExactly();
  lanes_.set_watches(true);
  Values lanes = FoldLanes();
  Value* is_exact = nullptr;
  Values quick = lanes_.FinishedQuickly(lanes, is_exact);
  lanes_.set_watches(false);
  Values folded =
      MakeIf(e_.b, is_exact, TypesOf(quick), [&] { return quick; }, [&] { return FoldExactly(); });
  folded[0]->def()->SetAttr(ir::MakeAttr<AttrKey::Likely>(1));
  return folded;
}

ir::AxisList LaneRows::SlowAxes() const {
  const ir::AxisList& folded = walk_.folds[0].folded;
  return {folded.begin(), folded.end() - 1};
}

Values LaneRows::FoldExactly() { return lanes_.Finished(FoldLanes()); }

Values LaneRows::FoldLanes() {
  return MakeElementwiseLoop(e_, walk_.folds[0].op, SlowAxes(), walk_.position, lanes_.Starts(),
                             [&](const Values& carried) -> Values {
                               if (walk_.row) walk_.row();
                               return RowInFasterWay(carried);
                             });
}

Values LaneRows::RowInFasterWay(const Values& carried) {
  Value* is_faster = walk_.may_be_faster ? walk_.may_be_faster() : nullptr;
  if (!is_faster) return Row(carried);
  return MakeIf(
      e_.b, is_faster, TypesOf(carried),
      [&] {
        walk_.set_faster(true);
        Values after = Row(carried);
        walk_.set_faster(false);
        return after;
      },
      [&] { return Row(carried); });
}

Values LaneRows::Row(const Values& carried) {
  Value* size = e_.Facts(walk_.folds[0].op, last_).size;
  Value* full = RoundDown(e_, size, lanes_.LanesPerIteration());
  Values lanes = carried;
  int64_t step = lanes_.LanesPerIteration();
  if (e_.Extent(last_) >= step) {
    lanes = InParts(carried, {last_, e_.b.I64(0), full}, step,
                    [&](const Values& before, const Stretch& part) {
                      return WholeIterations(before, part, step);
                    });
  }
  return lanes_.in_any_order() ? RestInAnyOrder(lanes, full) : Rest(lanes, full);
}

Values LaneRows::InParts(const Values& carried, const Stretch& stretch, int64_t step,
                         const std::function<Values(const Values&, const Stretch&)>& accumulate) {
  if (!walk_.inside) return accumulate(carried, stretch);
  Window inside = walk_.inside();
  Value* zero = e_.b.I64(0);
  auto in_stretch = [&](Value* position, int64_t up) {
    Value* after = e_.b.Max(e_.b.Sub(position, stretch.begin), zero);
    Value* whole = RoundDown(e_, e_.b.Add(after, e_.b.I64(up)), step);
    return e_.b.Min(e_.b.Add(stretch.begin, whole), stretch.end);
  };
  Value* from = in_stretch(inside.lo, step - 1);
  Value* to = e_.b.Max(in_stretch(inside.hi, 0), from);
  return MakeLoop(e_.b, {zero, e_.b.I64(2)}, carried, [&](Value* side, const Values& before) {
    Value* is_first = e_.b.Eq(side, zero);
    Value* begin = e_.b.Select(is_first, stretch.begin, to);
    Value* end = e_.b.Select(is_first, from, stretch.end);
    Values after = accumulate(before, {stretch.axis, begin, end});
    walk_.set_inside(true);
    after = accumulate(after, {stretch.axis, end, e_.b.Select(is_first, to, end)});
    walk_.set_inside(false);
    return after;
  });
}

Values LaneRows::WholeIterations(const Values& carried, const Stretch& stretch, int64_t step) {
  return MakeLoop(e_.b, {stretch.begin, stretch.end, step}, carried,
                  [&](Value* index, const Values& inner) -> Values {
                    Values lanes = inner;
                    for (int64_t skipped = 0; skipped < step; skipped += lanes_.width()) {
                      walk_.position[last_] = e_.b.Add(index, e_.b.I64(skipped));
                      lanes_.AccumulateChunk(lanes, skipped, {lanes_.width()});
                    }
                    return lanes;
                  });
}

Values LaneRows::Rest(const Values& carried, Value* full) {
  Value* size = e_.Facts(walk_.folds[0].op, last_).size;
  std::optional<int64_t> known = ConstantOf(size);
  std::vector<ir::Type> types = TypesOf(carried);
  std::function<Values(size_t, const Values&)> from = [&](size_t vector, const Values& before) {
    int64_t skipped = lanes_.VectorStart(vector);
    if (vector == lanes_.vectors() || skipped >= e_.Extent(last_)) return before;
    Value* first = e_.b.Add(full, e_.b.I64(skipped));
    int64_t left = known ? *known % kLanes - skipped : 0;
    if (known && left <= 0) return before;
    if (left >= lanes_.width()) {
      Values lanes = before;
      walk_.position[last_] = first;
      lanes_.AccumulateChunk(lanes, skipped, {lanes_.width()});
      return from(vector + 1, lanes);
    }
    return MakeIf(
        e_.b, e_.b.Lt(first, size), types,
        [&] {
          Values lanes = before;
          walk_.position[last_] = first;
          Value* left = e_.b.Sub(size, first);
          Value* count = e_.b.Min(left, e_.b.I64(lanes_.width()));
          lanes_.AccumulateChunk(lanes, skipped, ChunkOf(e_, count, lanes_.width()));
          return from(vector + 1, lanes);
        },
        [&] { return before; });
  };
  return from(0, carried);
}

Values LaneRows::RestInAnyOrder(const Values& carried, Value* full) {
  auto accumulate = [&](Values lanes, Value* index, const Chunk& chunk) {
    walk_.position[last_] = index;
    lanes_.AccumulateChunk(lanes, 0, chunk);
    return lanes;
  };
  Value* size = e_.Facts(walk_.folds[0].op, last_).size;
  std::optional<int64_t> known = ConstantOf(size);
  Value* end = RoundDown(e_, size, lanes_.width());
  Values lanes = carried;
  if (lanes_.vectors() > 1 && e_.Extent(last_) >= lanes_.width()) {
    lanes = MakeLoop(e_.b, {full, end, lanes_.width()}, carried,
                     [&](Value* index, const Values& before) {
                       return accumulate(before, index, {lanes_.width()});
                     });
  }
  if (known && *known % lanes_.width() == 0) return lanes;
  return MakeIf(
      e_.b, e_.b.Lt(end, size), TypesOf(lanes),
      [&] { return accumulate(lanes, end, ChunkOf(e_, e_.b.Sub(size, end), lanes_.width())); },
      [&] { return lanes; });
}

Values LaneRows::FoldIntegers() {
  Values starts;
  for (const Accumulation& fold : walk_.folds)
    starts.push_back(fold.into ? ReadAt(e_, fold.into, walk_.position) : fold.identity);
  return MakeElementwiseLoop(e_, walk_.folds[0].op, SlowAxes(), walk_.position, starts,
                             [&](const Values& carried) -> Values {
                               if (walk_.row) walk_.row();
                               return AddRow(carried);
                             });
}

Values LaneRows::AddRow(const Values& sums) {
  Value* size = e_.Facts(walk_.folds[0].op, last_).size;
  Value* full = RoundDown(e_, size, kLanes);
  Values zeros;
  for (Value* identity : lanes_.Identities())
    zeros.insert(zeros.end(), lanes_.vectors(), e_.b.Splat(identity, lanes_.width()));
  auto added = [&](const Values& before, const Values& lanes) {
    Values after = lanes_.Finished(lanes);
    for (size_t i = 0; i < after.size(); ++i) after[i] = e_.b.Add(before[i], after[i]);
    return after;
  };
  Values whole = sums;
  Value* from = e_.b.I64(0);
  auto add = [&](const Stretch& stretch, int64_t step) {
    return InParts(whole, stretch, step, [&](const Values& before, const Stretch& part) {
      return added(before, WholeIterations(zeros, part, step));
    });
  };
  if (int64_t step = IntegerStep(); step > kLanes && e_.Extent(last_) >= step) {
    Value* end = RoundDown(e_, size, step);
    whole = add({last_, from, end}, step);
    from = end;
  }
  if (e_.Extent(last_) >= kLanes) {
    auto rest = [&] { return add({last_, from, full}, kLanes); };
    bool is_all = ConstantOf(from) == 0;
    whole = is_all ? rest()
                   : MakeIf(e_.b, e_.b.Lt(from, full), TypesOf(sums), rest, [&] { return whole; });
  }
  return MakeIf(
      e_.b, e_.b.Lt(full, size), TypesOf(sums), [&] { return added(whole, Rest(zeros, full)); },
      [&] { return whole; });
}

int64_t LaneRows::IntegerStep() const {
  return std::max(kLanes, 2 * e_.facts.cache_line_bytes / walk_.bytes);
}

}  // namespace kdl::cpu
