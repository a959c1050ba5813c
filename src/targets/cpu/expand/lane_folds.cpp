#include "targets/cpu/expand/lane_folds.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/fold_notes.h"

// Each reduction has 64 accumulators, as 64 / L vectors of L lanes. One loop carries the accumulators of all
// reductions.
//
//   loop %n in 0 .. size & -64 step 64 carry(lanes)     whole iterations: vector i accumulates elements n + i L …
//     if rest: vector 0 accumulates its elements, under a mask
//     if more than L: vector 1, …                       the elements after a multiple of 64
//
// Minima and maxima of integers are the same in any order. They have at most four vectors of accumulators, and the
// elements that are left over are accumulated in the first of them, by a loop.
//
// Sums of integers are the same in any order, so their rows are summed one by one, and vectors can have as many
// lanes as fit terms into a register.
//
// The results for adjacent elements are collected in a vector before they are stored, because their readers
// load vectors. Store-to-load forwarding works only if a load needs no more bytes than the recent store has
// written.
//
//   loop %base in 0 .. size step L
//     %v = loop %n in %base .. min(%base + L, size) carry(%v): select (lane < %n - %base), %v, fold of %n
//     store %v at %base
//
// Some hardware prefetchers do not run as far ahead as software prefetches do, but can follow several rows at
// once. On such processors, several rows that come from memory are processed together, some elements of each
// row at a time. Most accumulators of these rows pass through the L1 cache, which takes less time than access
// to memory.

//
// On processors whose instructions for the maximum ignore NaN and the signs of zeros, a maximum of floats is
// computed with these instructions first, and NaN are watched for. If there was a NaN, or if the result is a
// zero, the row is reduced again exactly. The same applies to minima.

namespace kdl::cpu {

namespace {

constexpr int64_t kLanes = 64;
// The number of vectors of accumulators if the order cannot be observed.
constexpr int64_t kAnyOrderVectors = 4;
// The maximum number of vectors for the accumulators of all rows that are processed together.
constexpr int64_t kMostVectors = 32;
// The minimum number of rows to process together; two are slower than one. More than eight hide no more of the time
// that memory takes.
constexpr int64_t kFewestRows = 4;
constexpr int64_t kMostRowsTogether = 8;
// The number of vectors that record NaN, so that consecutive terms do not wait for each other.
constexpr size_t kWatches = 2;
// If a row has at least this many elements, the cost of starting the row is small.
constexpr int64_t kShortestRun = 512;

class LaneFolds {
 public:
  LaneFolds(Expander& e, const LaneWalk& walk)
      : e_(e),
        walk_(walk),
        last_(walk.folds[0].folded.back()),
        width_(WidthOf(e, walk)),
        adds_integers_(std::ranges::all_of(walk.folds, AddsIntegers)),
        in_any_order_(std::ranges::all_of(walk.folds, IsExtremumOfIntegers)),
        vectors_(static_cast<size_t>(
            std::min(in_any_order_ ? kAnyOrderVectors : kLanes, kLanes / width_))) {
    NoteAccumulators(e, walk.folds[0].op, walk.folds.size() * vectors_);
  }

  /// Returns the reduced values of the element at the position, one for each reduction.
  Values Fold() {
    if (adds_integers_) return FoldIntegers();
    bool may_watch = walk_.may_repeat && std::ranges::any_of(walk_.folds, [this](const auto& fold) {
                       return MayWatch(fold);
                     });
    if (!may_watch) return FoldExactly();
    watches_ = true;
    Values lanes = FoldLanes();
    Value* is_exact = nullptr;
    Values quick = FinishedQuickly(lanes, is_exact);
    watches_ = false;
    Values folded = MakeIf(
        e_.b, is_exact, TypesOf(quick), [&] { return quick; }, [&] { return FoldExactly(); });
    folded[0]->def()->SetAttr(ir::MakeAttr<AttrKey::Likely>(1));
    return folded;
  }

  /// Computes the reductions for each element of the axes that are kept, and stores the result of each
  /// reduction in that reduction's buffer.
  void FoldAll() {
    ir::AxisId axis = walk_.kept.back();
    int64_t bytes = 1;
    for (const Accumulation& fold : walk_.folds) bytes = std::max<int64_t>(bytes, Bytes(fold.acc));
    int64_t lanes = axis == walk_.tile_buffers[0].axes.back() ? e_.LanesAlong(axis, bytes) : 1;
    ir::AxisList around = walk_.kept;
    if (lanes > 1) around.pop_back();
    auto fold = [&](int64_t rows) {
      MakeElementwiseLoop(e_, walk_.folds[0].op, around, walk_.position, [&] {
        if (lanes > 1) {
          FoldRow(axis, lanes, rows);
        } else {
          Store(Fold(), {});
        }
      });
      return Values();
    };
    int64_t rows = walk_.together ? RowsTogether(lanes) : 1;
    if (rows == 1) {
      fold(1);
      return;
    }
    // There are two separate loops, so that the registers that several rows need do not slow down the loop
    // over single rows.
    MakeIf(
        e_.b, walk_.together, std::vector<ir::Type>(), [&] { return fold(rows); },
        [&] { return fold(1); });
  }

 private:
  static bool IsExtremumOfIntegers(const Accumulation& fold) {
    const ir::Attr* kind = fold.op->FindAttr(AttrKey::Reduction);
    if (!kind || !IsInteger(fold.acc)) return false;
    auto reduction = fold.op->attr<AttrKey::Reduction>();
    return reduction == ir::ReductionKind::Max || reduction == ir::ReductionKind::Min;
  }

  /// Returns the number of lanes in a vector. A short row of integers does not need vectors of several registers.
  static int64_t WidthOf(const Expander& e, const LaneWalk& walk) {
    int64_t width = e.facts.vector_bits / 8 / walk.bytes;
    int64_t least = width;
    for (const Accumulation& fold : walk.folds)
      least = std::min<int64_t>(least, e.facts.vector_bits / 8 / Bytes(fold.acc));
    auto extent =
        static_cast<uint64_t>(std::max<int64_t>(e.Extent(walk.folds[0].folded.back()), 1));
    width = std::max(least, std::min(width, static_cast<int64_t>(std::bit_ceil(extent))));
    return std::min(kLanes, width);
  }

  Values FoldExactly() { return Finished(FoldLanes()); }

  /// Returns the accumulators of all reductions after the last term.
  Values FoldLanes() {
    return MakeElementwiseLoop(e_, walk_.folds[0].op, SlowAxes(), walk_.position, Starts(),
                               [&](const Values& carried) -> Values {
                                 if (walk_.row) walk_.row();
                                 return RowInFasterWay(carried);
                               });
  }

  Values RowInFasterWay(const Values& carried) {
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

  /// Whether the reduction is a maximum or minimum of floats that is computed faster by watching for NaN.
  bool MayWatch(const Accumulation& fold) const {
    const ir::Attr* kind = fold.op->FindAttr(AttrKey::Reduction);
    if (!kind || e_.facts.has_exact_extrema || !IsFloat(fold.acc)) return false;
    auto reduction = fold.op->attr<AttrKey::Reduction>();
    return reduction == ir::ReductionKind::Max || reduction == ir::ReductionKind::Min;
  }
  bool Watches(const Accumulation& fold) const { return watches_ && MayWatch(fold); }

  /// Returns the number of accumulators of the reduction, including the vectors that record NaN.
  size_t Slots(const Accumulation& fold) const { return vectors_ + (Watches(fold) ? kWatches : 0); }

  /// Returns the larger (or smaller) one of two floats, neither of which is NaN. Zeros count as equal.
  Value* Extremum(const Accumulation& fold, Value* a, Value* b) {
    bool largest = fold.op->attr<AttrKey::Reduction>() == ir::ReductionKind::Max;
    return e_.b.Select(largest ? e_.b.Gt(a, b) : e_.b.Lt(a, b), a, b);
  }

  /// Returns the type of the vectors that record NaN. Their lanes are as wide as those of the floats.
  ir::Type WatchType(const Accumulation& fold) {
    return e_.VectorType(Bytes(fold.acc) == 4 ? Scalar::I32 : Scalar::I64, width_);
  }

  Value* Watch(const Accumulation& fold, Value* before, Value* term) {
    Scalar scalar = WatchType(fold)->scalar;
    Value* all = e_.b.Splat(e_.b.Int(scalar, -1), width_);
    Value* none = e_.b.Splat(e_.b.Int(scalar, 0), width_);
    return e_.b.Or(before, e_.b.Select(e_.b.Ne(term, term), all, none));
  }

  /// Returns the results of reductions that were computed with watches, and whether they are exact.
  Values FinishedQuickly(std::span<Value* const> lanes, Value*& is_exact) {
    Values results;
    auto first = lanes.begin();
    for (const Accumulation& fold : walk_.folds) {
      auto after = first + static_cast<std::ptrdiff_t>(vectors_);
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

  /// Consecutive elements of an axis whose rows are processed together.
  struct Rows {
    ir::AxisId axis;
    Value* first;
    int64_t count;
  };

  void Store(const Values& folded, const Chunk& chunk) {
    for (size_t i = 0; i < folded.size(); ++i)
      StoreChunk(e_, folded[i], walk_.tile_buffers[i], walk_.position, chunk);
  }

  /// Emits vectors of reduced values along the axis. Processes `rows` rows at a time while at least that many
  /// rows are left.
  void FoldRow(ir::AxisId axis, int64_t lanes, int64_t rows) {
    Window row = e_.WindowOf(walk_.folds[0].op, axis);
    MakeLoop(e_.b, {row.lo, row.hi, lanes}, [&](Value* base) {
      Value* left = e_.b.Sub(row.hi, base);
      Value* count = e_.b.Min(left, e_.b.I64(lanes));
      Values vectors;
      for (Value* identity : Identities()) vectors.push_back(e_.b.Splat(identity, lanes));
      Value* end = e_.b.Add(base, count);
      auto put = [&](const Values& before, Value* index, const Values& folded) {
        Value* is_before = ChunkOf(e_, e_.b.Sub(index, base), lanes).mask;
        Values after;
        for (size_t i = 0; i < folded.size(); ++i)
          after.push_back(e_.b.Select(is_before, before[i], e_.b.Splat(folded[i], lanes)));
        return after;
      };
      Value* first = base;
      if (rows > 1) {
        first = e_.b.Add(base, RoundDown(e_, count, rows));
        vectors = MakeLoop(e_.b, {base, first, rows}, vectors, [&](Value* index, Values before) {
          for (const auto& [row, folded] : FoldTogether({axis, index, rows}))
            before = put(before, row, folded);
          return before;
        });
      }
      vectors = MakeLoop(e_.b, {first, end}, vectors, [&](Value* index, const Values& before) {
        walk_.position[axis] = index;
        return put(before, index, Fold());
      });
      walk_.position[axis] = base;
      // If the row's last vector fits into the buffer, it is stored whole, because nothing reads the excess
      // elements.
      bool fits = e_.Extent(axis) % lanes == 0;
      Store(vectors, fits ? Chunk{lanes} : ChunkOf(e_, count, lanes));
    });
  }

  /// Returns how many rows to process together. The number is limited because most accumulators of these rows
  /// do not stay in registers.
  int64_t RowsTogether(int64_t lanes) const {
    if (e_.Extent(last_) < kShortestRun) return 1;
    int64_t registers = 0;
    for (const Accumulation& fold : walk_.folds) {
      int64_t bits = kLanes * 8 * Bytes(fold.acc);
      registers += std::max(static_cast<int64_t>(vectors_), bits / e_.facts.vector_bits);
    }
    auto most = static_cast<uint64_t>(kMostVectors / registers);
    auto rows = std::min({lanes, kMostRowsTogether, static_cast<int64_t>(std::bit_floor(most))});
    return rows < kFewestRows ? 1 : rows;
  }

  /// Reduces several rows together. Each iteration processes the same number of elements of all rows, vector
  /// by vector, so that values that all rows need are loaded once.
  std::vector<std::pair<Value*, Values>> FoldTogether(const Rows& rows) {
    Values indices;
    Values starts;
    for (int64_t r = 0; r < rows.count; ++r) {
      indices.push_back(e_.b.Add(rows.first, e_.b.I64(r)));
      walk_.position[rows.axis] = indices.back();
      Values own = Starts();
      starts.insert(starts.end(), own.begin(), own.end());
    }
    size_t each = starts.size() / indices.size();
    auto iteration = [&](const Values& carried, Value* from, Value* left) {
      Values lanes = carried;
      for (size_t vector = 0; vector < vectors_; ++vector) {
        Value* skipped = e_.b.I64(VectorStart(vector));
        Chunk chunk = left ? ChunkOf(e_, e_.b.Sub(left, skipped), width_) : Chunk{width_};
        walk_.position[last_] = e_.b.Add(from, skipped);
        for (size_t r = 0; r < indices.size(); ++r) {
          walk_.position[rows.axis] = indices[r];
          if (walk_.row) walk_.row();
          AccumulateChunk(std::span(lanes).subspan(r * each, each), VectorStart(vector), chunk);
        }
      }
      return lanes;
    };
    Values lanes = MakeElementwiseLoop(
        e_, walk_.folds[0].op, SlowAxes(), walk_.position, starts,
        [&](const Values& carried) -> Values {
          Value* size = e_.Facts(walk_.folds[0].op, last_).size;
          Value* full = RoundDown(e_, size, LanesPerIteration());
          Values whole = MakeLoop(
              e_.b, {e_.b.I64(0), full, LanesPerIteration()}, carried,
              [&](Value* index, const Values& inner) { return iteration(inner, index, nullptr); });
          Value* left = e_.b.Sub(size, full);
          return MakeIf(
              e_.b, e_.b.Lt(full, size), TypesOf(whole),
              [&] { return iteration(whole, full, left); }, [&] { return whole; });
        });
    std::vector<std::pair<Value*, Values>> folded;
    for (size_t r = 0; r < indices.size(); ++r)
      folded.emplace_back(indices[r], Finished(std::span(lanes).subspan(r * each, each)));
    return folded;
  }

  /// Adds the sum of each row to the scalar result. The accumulators of a loop are then used only by the sum of
  /// their lanes, as LLVM's analysis of reductions requires.
  Values FoldIntegers() {
    Values starts;
    for (const Accumulation& fold : walk_.folds)
      starts.push_back(fold.into ? ReadAt(e_, fold.into, walk_.position) : fold.identity);
    return MakeElementwiseLoop(e_, walk_.folds[0].op, SlowAxes(), walk_.position, starts,
                               [&](const Values& carried) -> Values {
                                 if (walk_.row) walk_.row();
                                 return AddRow(carried);
                               });
  }

  Values AddRow(const Values& sums) {
    Value* size = e_.Facts(walk_.folds[0].op, last_).size;
    Value* full = RoundDown(e_, size, kLanes);
    Values zeros;
    for (Value* identity : Identities())
      zeros.insert(zeros.end(), vectors_, e_.b.Splat(identity, width_));
    auto added = [&](const Values& before, const Values& lanes) {
      Values after = Finished(lanes);
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
      whole = is_all
                  ? rest()
                  : MakeIf(e_.b, e_.b.Lt(from, full), TypesOf(sums), rest, [&] { return whole; });
    }
    return MakeIf(
        e_.b, e_.b.Lt(full, size), TypesOf(sums), [&] { return added(whole, Rest(zeros, full)); },
        [&] { return whole; });
  }

  ir::AxisList SlowAxes() const {
    const ir::AxisList& folded = walk_.folds[0].folded;
    return {folded.begin(), folded.end() - 1};
  }

  /// Returns the accumulators of all reductions before the first term.
  Values Starts() {
    Values starts;
    for (const Accumulation& fold : walk_.folds) {
      Values lanes = Start(fold);
      starts.insert(starts.end(), lanes.begin(), lanes.end());
    }
    return starts;
  }

  Values Finished(std::span<Value* const> lanes) {
    Values results;
    auto first = lanes.begin();
    for (const Accumulation& fold : walk_.folds) {
      auto after = first + static_cast<std::ptrdiff_t>(vectors_);
      results.push_back(Finish(fold, Values(first, after)));
      first = after;
    }
    return results;
  }

  Values Identities() const {
    Values all;
    for (const Accumulation& fold : walk_.folds) all.push_back(fold.identity);
    return all;
  }

  /// Returns the accumulators of a reduction before the first term. Lane 0 starts from the reduction's
  /// initial value, the other lanes from its identity.
  Values Start(const Accumulation& fold) {
    Values lanes(vectors_, e_.b.Splat(fold.identity, width_));
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

  Values Row(const Values& carried) {
    Value* size = e_.Facts(walk_.folds[0].op, last_).size;
    Value* full = RoundDown(e_, size, LanesPerIteration());
    Values lanes = carried;
    int64_t step = LanesPerIteration();
    if (e_.Extent(last_) >= step) {
      lanes = InParts(carried, {last_, e_.b.I64(0), full}, step,
                      [&](const Values& before, const Stretch& part) {
                        return WholeIterations(before, part, step);
                      });
    }
    return in_any_order_ ? RestInAnyOrder(lanes, full) : Rest(lanes, full);
  }

  /// Returns how many elements an iteration over sums of integers processes: those of two cache lines, since one prefetch
  /// brings two lines.
  int64_t IntegerStep() const {
    return std::max(kLanes, 2 * e_.facts.cache_line_bytes / walk_.bytes);
  }

  /// Accumulates the elements of the stretch in order: those before the interior of the row, those inside, and those
  /// after it. The parts consist of whole iterations of `step` elements. One loop runs those before and after.
  Values InParts(const Values& carried, const Stretch& stretch, int64_t step,
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

  /// Accumulates the elements of the stretch in iterations of `step` elements, which fill all accumulators.
  Values WholeIterations(const Values& carried, const Stretch& stretch, int64_t step) {
    return MakeLoop(e_.b, {stretch.begin, stretch.end, step}, carried,
                    [&](Value* index, const Values& inner) -> Values {
                      Values lanes = inner;
                      for (int64_t skipped = 0; skipped < step; skipped += width_) {
                        walk_.position[last_] = e_.b.Add(index, e_.b.I64(skipped));
                        AccumulateChunk(lanes, skipped, {width_});
                      }
                      return lanes;
                    });
  }

  /// Returns the number of elements of an iteration before those of a vector of accumulators.
  int64_t VectorStart(size_t vector) const { return static_cast<int64_t>(vector) * width_; }
  int64_t LanesPerIteration() const { return static_cast<int64_t>(vectors_) * width_; }

  /// Reduces the elements from index `full` on, with a loop over vectors.
  Values RestInAnyOrder(const Values& carried, Value* full) {
    auto accumulate = [&](Values lanes, Value* index, const Chunk& chunk) {
      walk_.position[last_] = index;
      AccumulateChunk(lanes, 0, chunk);
      return lanes;
    };
    Value* size = e_.Facts(walk_.folds[0].op, last_).size;
    std::optional<int64_t> known = ConstantOf(size);
    Value* end = RoundDown(e_, size, width_);
    Values lanes = carried;
    if (vectors_ > 1 && e_.Extent(last_) >= width_) {
      lanes = MakeLoop(e_.b, {full, end, width_}, carried, [&](Value* index, const Values& before) {
        return accumulate(before, index, {width_});
      });
    }
    if (known && *known % width_ == 0) return lanes;
    return MakeIf(
        e_.b, e_.b.Lt(end, size), TypesOf(lanes),
        [&] { return accumulate(lanes, end, ChunkOf(e_, e_.b.Sub(size, end), width_)); },
        [&] { return lanes; });
  }

  /// Reduces the elements from index `full` on. Vectors without such elements are skipped, so that nothing is
  /// computed for them and nothing can trap. If the size is a constant, no run-time checks are needed.
  Values Rest(const Values& carried, Value* full) {
    Value* size = e_.Facts(walk_.folds[0].op, last_).size;
    std::optional<int64_t> known = ConstantOf(size);
    std::vector<ir::Type> types = TypesOf(carried);
    std::function<Values(size_t, const Values&)> from = [&](size_t vector, const Values& before) {
      int64_t skipped = VectorStart(vector);
      if (vector == vectors_ || skipped >= e_.Extent(last_)) return before;
      Value* first = e_.b.Add(full, e_.b.I64(skipped));
      int64_t left = known ? *known % kLanes - skipped : 0;
      if (known && left <= 0) return before;
      if (left >= width_) {
        Values lanes = before;
        walk_.position[last_] = first;
        AccumulateChunk(lanes, skipped, {width_});
        return from(vector + 1, lanes);
      }
      return MakeIf(
          e_.b, e_.b.Lt(first, size), types,
          [&] {
            Values lanes = before;
            walk_.position[last_] = first;
            Value* left = e_.b.Sub(size, first);
            Value* count = e_.b.Min(left, e_.b.I64(width_));
            AccumulateChunk(lanes, skipped, ChunkOf(e_, count, width_));
            return from(vector + 1, lanes);
          },
          [&] { return before; });
    };
    return from(0, carried);
  }

  /// Accumulates the chunk's elements in one vector of each reduction. In the current iteration, there are `skipped`
  /// elements before the chunk.
  void AccumulateChunk(std::span<Value*> lanes, int64_t skipped, const Chunk& chunk) {
    std::vector<Values> terms = walk_.terms(chunk, skipped);
    size_t vector = static_cast<size_t>(skipped / width_) % vectors_;
    auto lane = lanes.begin() + static_cast<std::ptrdiff_t>(vector);
    for (size_t i = 0; i < walk_.folds.size(); ++i) {
      const Accumulation& fold = walk_.folds[i];
      for (Value*& term : terms[i]) term = e_.b.Cast(e_.b.Splat(term, width_), fold.acc);
      auto keep = [&](Value*& before, Value* after) {
        before = chunk.mask ? e_.b.Select(chunk.mask, after, before) : after;
      };
      if (Watches(fold)) {
        Value*& watch = *(lane - static_cast<std::ptrdiff_t>(vector) +
                          static_cast<std::ptrdiff_t>(vectors_ + vector % kWatches));
        keep(watch, Watch(fold, watch, terms[i][0]));
        keep(*lane, Extremum(fold, terms[i][0], *lane));
      } else {
        keep(*lane, fold.step(*lane, terms[i]));
      }
      lane += static_cast<std::ptrdiff_t>(Slots(fold));
    }
  }

  /// Combines lane l with lane l + 32, then with lane l + 16, and so on, and finally with lane l + 1.
  Value* Finish(const Accumulation& fold, Values lanes) {
    return CombineLanes(e_, std::move(lanes), fold.combine);
  }

  Expander& e_;
  const LaneWalk& walk_;
  ir::AxisId last_;
  int64_t width_;  ///< the number of lanes in a vector
  bool adds_integers_;
  /// Whether the elements that are left over after whole iterations may be accumulated in the first vector.
  bool in_any_order_;
  size_t vectors_;        ///< the number of vectors for the lanes of one reduction
  bool watches_ = false;  ///< whether extrema of floats are computed by watching for NaN
};

}  // namespace

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

Values ReduceInLoopLanes(Expander& e, const LaneWalk& walk) { return LaneFolds(e, walk).Fold(); }

void FoldAllInLanes(Expander& e, const LaneWalk& walk) { LaneFolds(e, walk).FoldAll(); }

/// Expands a reduction in 64-lane order. The operands must be scalars or in scratch memory.
void AccumulateLanes(Expander& e, const Accumulation& what) {
  AxisId last = what.folded.back();
  std::vector<TileBuffer> tile_buffers;  // the buffers of the operands that have the last axis
  for (Value* operand : what.operands)
    tile_buffers.push_back(HasAxis(operand, last) ? TileBufferAlong(e, operand, last)
                                                  : TileBuffer());
  Position position;
  LaneWalk walk{.folds = {what}, .bytes = Bytes(what.acc), .position = position};
  walk.may_repeat = true;
  walk.terms = [&](const Chunk& chunk, int64_t /*before*/) {
    Values terms;
    for (size_t i = 0; i < tile_buffers.size(); ++i) {
      Value* operand = what.operands[i];
      terms.push_back(HasAxis(operand, last)
                          ? LoadChunk(e, tile_buffers[i], operand->type()->scalar, position, chunk)
                          : ReadAt(e, operand, position));
    }
    return std::vector<Values>{terms};
  };
  const Value* result = what.op->result();
  if (!IsTileValue(result)) {
    e.scalars[result] = ReduceInLoopLanes(e, walk)[0];
    return;
  }
  walk.tile_buffers = {TileBufferOf(e, result)};
  walk.kept = walk.tile_buffers[0].axes;
  FoldAllInLanes(e, walk);
}

}  // namespace kdl::cpu
