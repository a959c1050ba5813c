#include "targets/cpu/expand/lane_folds.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/lane_accumulators.h"
#include "targets/cpu/expand/lane_rows.h"

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

namespace kdl::cpu {

namespace {

// The maximum number of vectors for the accumulators of all rows that are processed together.
constexpr int64_t kMostVectors = 32;
// The minimum number of rows to process together; two are slower than one. More than eight hide no more of the time
// that memory takes.
constexpr int64_t kFewestRows = 4;
constexpr int64_t kMostRowsTogether = 8;
// If a row has at least this many elements, the cost of starting the row is small.
constexpr int64_t kShortestRun = 512;

class LaneFolds {
 public:
  LaneFolds(Expander& e, const LaneWalk& walk)
      : e_(e),
        walk_(walk),
        last_(walk.folds[0].folded.back()),
        lanes_(e, walk),
        rows_(e, walk, lanes_) {}

  /// Computes the reductions for each element of the axes that are kept, and stores the result of each
  /// reduction in that reduction's buffer.
  void FoldAll() {
    ir::AxisId axis = walk_.kept.back();
    int64_t bytes = 1;
    for (const Accumulation& fold : walk_.folds) bytes = std::max<int64_t>(bytes, Bytes(fold.acc));
    int64_t lanes = axis == walk_.tile_buffers[0].axes.back() ? e_.LanesAlong(axis, bytes) : 1;
    ir::AxisList around = walk_.kept;
    if (lanes > 1) around.pop_back();
    MakeElementwiseLoop(e_, walk_.folds[0].op, around, walk_.position, [&] {
      if (lanes > 1) {
        FoldAxis(axis, lanes);
      } else {
        Store(rows_.Fold(), {});
      }
    });
  }

 private:
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

  /// Emits vectors of reduced values along the axis. Full vectors whose rows come from memory are reduced several rows at a time,
  /// in a loop of their own, so that the registers that several rows need do not slow down the loop over single rows.
  void FoldAxis(ir::AxisId axis, int64_t lanes) {
    Window row = e_.WindowOf(walk_.folds[0].op, axis);
    Value* rest = row.lo;
    if (int64_t rows = walk_.together ? RowsTogether(lanes) : 1; rows > 1) {
      Value* full = RoundDown(e_, row.size, lanes);
      rest = e_.b.Add(row.lo, e_.b.Select(walk_.together, full, e_.b.I64(0)));
      FoldVectors({axis, row.lo, rest}, lanes, rows);
    }
    FoldVectors({axis, rest, row.hi}, lanes, 1);
  }

  /// Emits vectors of reduced values. `rows` rows are processed together; if it is not 1, all vectors must be full.
  void FoldVectors(const Stretch& stretch, int64_t lanes, int64_t rows) {
    MakeLoop(e_.b, {stretch.begin, stretch.end, lanes}, [&](Value* base) {
      Value* count = e_.b.I64(lanes);
      if (rows == 1) count = e_.b.Min(e_.b.Sub(stretch.end, base), count);
      Values vectors;
      for (Value* identity : lanes_.Identities()) vectors.push_back(e_.b.Splat(identity, lanes));
      auto put = [&](const Values& before, Value* index, const Values& folded) {
        Value* is_before = ChunkOf(e_, e_.b.Sub(index, base), lanes).mask;
        Values after;
        for (size_t i = 0; i < folded.size(); ++i)
          after.push_back(e_.b.Select(is_before, before[i], e_.b.Splat(folded[i], lanes)));
        return after;
      };
      auto fold = [&](Value* index, Values before) {
        if (rows > 1) {
          for (const auto& [row, folded] : FoldTogether({stretch.axis, index, rows}))
            before = put(before, row, folded);
          return before;
        }
        walk_.position[stretch.axis] = index;
        return put(before, index, rows_.Fold());
      };
      vectors = MakeLoop(e_.b, {base, e_.b.Add(base, count), rows}, vectors, fold);
      walk_.position[stretch.axis] = base;
      // If the row's last vector fits into the buffer, it is stored whole, because nothing reads the excess
      // elements.
      bool fits = rows > 1 || e_.Extent(stretch.axis) % lanes == 0;
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
      registers += std::max(static_cast<int64_t>(lanes_.vectors()), bits / e_.facts.vector_bits);
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
      Values own = lanes_.Starts();
      starts.insert(starts.end(), own.begin(), own.end());
    }
    size_t each = starts.size() / indices.size();
    auto iteration = [&](const Values& carried, Value* from, Value* left) {
      Values lanes = carried;
      for (size_t vector = 0; vector < lanes_.vectors(); ++vector) {
        Value* skipped = e_.b.I64(lanes_.VectorStart(vector));
        Chunk chunk =
            left ? ChunkOf(e_, e_.b.Sub(left, skipped), lanes_.width()) : Chunk{lanes_.width()};
        walk_.position[last_] = e_.b.Add(from, skipped);
        for (size_t r = 0; r < indices.size(); ++r) {
          walk_.position[rows.axis] = indices[r];
          if (walk_.row) walk_.row();
          lanes_.AccumulateChunk(std::span(lanes).subspan(r * each, each),
                                 lanes_.VectorStart(vector), chunk);
        }
      }
      return lanes;
    };
    auto rest_in_any_order = [&](Values lanes, Value* full) {
      for (size_t r = 0; r < indices.size(); ++r) {
        walk_.position[rows.axis] = indices[r];
        if (walk_.row) walk_.row();
        auto own = lanes.begin() + static_cast<std::ptrdiff_t>(r * each);
        std::ranges::copy(
            rows_.RestInAnyOrder(Values(own, own + static_cast<std::ptrdiff_t>(each)), full), own);
      }
      return lanes;
    };
    Values lanes = MakeElementwiseLoop(
        e_, walk_.folds[0].op, rows_.SlowAxes(), walk_.position, starts,
        [&](const Values& carried) -> Values {
          Value* size = e_.Facts(walk_.folds[0].op, last_).size;
          Value* full = RoundDown(e_, size, lanes_.LanesPerIteration());
          Values whole = MakeLoop(
              e_.b, {e_.b.I64(0), full, lanes_.LanesPerIteration()}, carried,
              [&](Value* index, const Values& inner) { return iteration(inner, index, nullptr); });
          if (lanes_.in_any_order()) return rest_in_any_order(whole, full);
          Value* left = e_.b.Sub(size, full);
          return MakeIf(
              e_.b, e_.b.Lt(full, size), TypesOf(whole),
              [&] { return iteration(whole, full, left); }, [&] { return whole; });
        });
    std::vector<std::pair<Value*, Values>> folded;
    for (size_t r = 0; r < indices.size(); ++r)
      folded.emplace_back(indices[r], lanes_.Finished(std::span(lanes).subspan(r * each, each)));
    return folded;
  }

  Expander& e_;
  const LaneWalk& walk_;
  ir::AxisId last_;
  LaneAccumulators lanes_;
  LaneRows rows_;
};

}  // namespace

Values ReduceInLoopLanes(Expander& e, const LaneWalk& walk) {
  LaneAccumulators lanes(e, walk);
  return LaneRows(e, walk, lanes).Fold();
}

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
