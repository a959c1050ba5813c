#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/combining.h"
#include "targets/cpu/analysis/last_reads.h"
#include "targets/cpu/expand/fold_notes.h"
#include "targets/cpu/expand/lane_scans.h"
#include "targets/cpu/expand/transposed_block.h"

// Expands elementwise loops with scans. The accumulators of several rows, one in each lane, are in registers
// while a loop goes along the axis of the scans. Rows are adjacent along the last axis of the elementwise loop:
//
//   loop %q in rows step L                        lane l belongs to row q + l
//     loop %p in points carry(accumulators)
//       the body, for a vector of L rows
//
// If memory is contiguous along the axis of the scans instead, blocks of L rows by L points are loaded,
// transposed in registers, run point by point, transposed again, and stored:
//
//   loop %q in rows step L
//     if at least half of L rows, and two, are left
//       loop %p in points step L carry(accumulators)    a block; masked if rows or points are missing
//     else row by row
//
// A body that cannot run on vectors runs element by element, row by row.

namespace kdl::cpu {

namespace {

// The number of points of a row that an iteration processes if rows are processed one by one.
constexpr int64_t kPointsPerIteration = 4;
// With fewer rows than this and than lanes, transposing costs more than the lanes gain.
constexpr int64_t kFewestTransposedRows = 4;

class ScanLoop {
 public:
  explicit ScanLoop(ElementwiseLoopBody& body)
      : e_(body.e()),
        body_(body),
        axis_(*body.last().scan_axis()),
        scans_(ScansIn(body.elementwise())),
        is_down_(scans_[0]->attr<AttrKey::Direction>() == ir::DirectionKind::Down) {
    body_.StopLookingAhead();
    for (const Value* result : body.elementwise()->results())
      ends_.push_back(IsReadOnlyAtEnd(body.elementwise(), result, axis_,
                                      scans_[0]->attr<AttrKey::Direction>()));
  }

  void ExpandLoop() {
    int64_t lanes = Lanes();
    for (const Op* scan : scans_) NoteCombine(e_, scan, lanes);
    if (lanes == 1) return body_.Around(axis_, axis_, [&] { RunAlong({}); });
    body_.Around(axis_, LastAxis(), [&] {
      Window rows = e_.WindowOf(body_.elementwise(), LastAxis());
      if (body_.last().Transposes()) return RunTransposed(rows, lanes);
      MakeChunks(
          e_, LastAxis(), rows, lanes, body_.position(),
          [&](const Chunk& chunk) { RunAlong(chunk); }, false);
    });
  }

 private:
  ir::AxisId LastAxis() const { return body_.axes().back(); }

  /// Returns the number of rows that are processed together.
  int64_t Lanes() const {
    if (body_.last().Vectorizes()) return body_.Lanes();
    if (!body_.last().Transposes()) return 1;
    int64_t rows = e_.LanesAlong(LastAxis(), body_.last().Bytes());
    int64_t most = TransposedAccesses(body_).lanes();
    int64_t lanes = std::min(rows, most);
    return lanes == most || lanes >= kFewestTransposedRows ? lanes : 1;
  }

  Values Inits(int64_t lanes) {
    Values inits;
    for (const Op* scan : scans_) {
      for (Value* init : scan->Segment(ir::ScanInLoopOp::at_inits))
        inits.push_back(e_.b.Splat(e_.Scalar(init), lanes));
    }
    return inits;
  }

  /// Makes the body store an element of which only the last one is read, only if the position is the last one of the scan.
  void StoreOnlyEnds(Value* position) {
    body_.store_conditions.assign(ends_.size(), nullptr);
    if (std::ranges::none_of(ends_, [](bool ends) { return ends; })) return;
    Window points = e_.WindowOf(body_.elementwise(), axis_);
    Value* is_last = is_down_ ? e_.b.Eq(position, points.lo)
                              : e_.b.Eq(e_.b.Add(position, e_.b.I64(1)), points.hi);
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i]) body_.store_conditions[i] = is_last;
    }
  }

  void MapPoints() {
    for (size_t i = 0; i < body_.axes().size(); ++i) body_.MapPoint(i);
  }

  /// Runs the body at all points of the rows of a chunk. Elements of a single row are processed several at a
  /// time, because the instructions of the loop would take longer than the accumulators need.
  void RunAlong(const Chunk& chunk) {
    Window points = e_.WindowOf(body_.elementwise(), axis_);
    Values carried = Inits(chunk.lanes);
    Value* rest = points.lo;
    if (chunk.lanes == 1 && e_.Extent(axis_) >= kPointsPerIteration) {
      // Points before the last one store no result of which only the last element is read.
      skips_results_ = !ends_.empty() && std::ranges::all_of(ends_, std::identity());
      Value* before_end = e_.b.Max(e_.b.Sub(points.size, e_.b.I64(1)), e_.b.I64(0));
      Value* most = skips_results_ ? before_end : points.size;
      rest = e_.b.Add(points.lo, RoundDown(e_, most, kPointsPerIteration));
      carried = MakeLoop(e_.b, {points.lo, rest, kPointsPerIteration}, carried,
                         [&](Value* index, Values before) {
                           for (int64_t i = 0; i < kPointsPerIteration; ++i)
                             before = RunPoint(points, e_.b.Add(index, e_.b.I64(i)), chunk, before);
                           return before;
                         });
      skips_results_ = false;
    }
    MakeLoop(e_.b, {rest, points.hi}, carried, [&](Value* index, const Values& before) {
      return RunPoint(points, index, chunk, before);
    });
  }

  /// Runs the body at one point and returns the accumulators after it. If the scans start from the end, points
  /// are counted from there.
  Values RunPoint(const Window& points, Value* index, const Chunk& chunk, const Values& before) {
    if (is_down_) {
      Value* last = e_.b.Sub(points.hi, e_.b.I64(1));
      index = e_.b.Sub(last, e_.b.Sub(index, points.lo));
    }
    body_.position()[axis_] = index;
    if (!skips_results_) StoreOnlyEnds(index);
    Values after;
    body_.Locally([&] {
      MapPoints();
      body_.accumulators = before;
      body_.Expand(chunk,
                   [&](const Op* op) { return !skips_results_ || op->kind() != OpKind::Yield; });
      after = body_.accumulators;
    });
    return after;
  }

  void RunTransposed(const Window& rows, int64_t lanes) {
    MakeLoop(e_.b, {rows.lo, rows.hi, lanes}, [&](Value* first) {
      Value* left = e_.b.Sub(rows.hi, first);
      MakeIf(
          e_.b, e_.b.Ge(left, e_.b.I64(std::max<int64_t>(lanes / 2, 2))),
          [&] { RunRows(first, left, lanes); },
          [&] {
            MakeLoop(e_.b, {first, rows.hi}, [&](Value* row) {
              body_.position()[LastAxis()] = row;
              RunAlong({});
            });
          });
    });
  }

  /// Runs the body at all points of up to `lanes` rows.
  void RunRows(Value* first, Value* left, int64_t lanes) {
    Window points = e_.WindowOf(body_.elementwise(), axis_);
    Values inits = Inits(lanes);
    MakeLoop(e_.b, {e_.b.I64(0), points.size, lanes}, inits,
             [&](Value* done, const Values& before) -> Values {
               Value* wanted = e_.b.I64(lanes);
               Value* after = e_.b.Sub(points.size, done);
               Value* full_rows = e_.b.Ge(left, wanted);
               Value* full_points = e_.b.Ge(after, wanted);
               Value* exist = e_.b.Min(after, wanted);
               Value* begin = e_.b.Add(points.lo, done);
               if (is_down_) begin = e_.b.Sub(points.hi, e_.b.Add(done, exist));
               TransposedBlock block{begin, first, exist, left};
               return MakeIf(
                   e_.b, e_.b.And(full_rows, full_points), TypesOf(inits),
                   [&] { return Fill(block, lanes, false, before); },
                   [&] { return Fill(block, lanes, true, before); });
             });
  }

  /// Runs the body at the points of a block and returns the accumulators after it.
  Values Fill(const TransposedBlock& block, int64_t lanes, bool masked, const Values& before) {
    Values accumulators = before;
    body_.Locally([&] {
      TransposedAccesses accesses(body_, lanes);
      std::unordered_map<const Op*, Values> transposed;
      for (const Op* access : body_.last().Across())
        transposed[access] = access->kind() == OpKind::Load
                                 ? accesses.LoadTransposed(access, block, masked)
                                 : Values(static_cast<size_t>(lanes));
      for (int64_t n = 0; n < lanes; ++n)
        FillPoint(accesses, block, is_down_ ? lanes - 1 - n : n, masked, accumulators, transposed);
      for (const Op* access : body_.last().Across()) {
        if (access->kind() == OpKind::Store)
          accesses.StoreTransposed(access, transposed.at(access), block, masked);
      }
    });
    return accumulators;
  }

  void FillPoint(TransposedAccesses& accesses, const TransposedBlock& block, int64_t i, bool masked,
                 Values& accumulators, std::unordered_map<const Op*, Values>& transposed) {
    Value* point = accesses.ExistingPoint(block, i, masked);
    accesses.MoveTo(block, point, e_.b.I64(0));
    auto row = static_cast<size_t>(i);
    for (const Op* access : body_.last().Across()) {
      if (access->kind() == OpKind::Load) body_.Bind(access->result(), transposed.at(access)[row]);
    }
    Chunk chunk = accesses.VectorChunk(block.side_points, i, block.last_points, masked);
    body_.accumulators = accumulators;
    StoreOnlyEnds(body_.position().at(axis_));
    body_.Expand(chunk, [&](const Op* op) { return !transposed.contains(op); });
    for (const Op* access : body_.last().Across()) {
      if (access->kind() == OpKind::Store)
        transposed.at(access)[row] = e_.b.Splat(body_.Term(access->operand(0)), accesses.lanes());
    }
    Value* exists = masked ? e_.b.Lt(e_.b.I64(i), block.side_points) : nullptr;
    for (size_t a = 0; a < accumulators.size(); ++a) {
      Value* after = body_.accumulators[a];
      accumulators[a] = exists ? e_.b.Select(exists, after, accumulators[a]) : after;
    }
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  ir::AxisId axis_;  ///< the axis of the scans
  std::vector<const Op*> scans_;
  bool is_down_;
  bool skips_results_ = false;  ///< whether the body stores none of its results
  std::vector<bool> ends_;  ///< for each result, whether only the last element of the scan is read
};

}  // namespace

void ExpandScanLoop(ElementwiseLoopBody& body) {
  if (!ExpandLaneScans(body)) ScanLoop(body).ExpandLoop();
}

}  // namespace kdl::cpu
