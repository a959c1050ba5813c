#include "targets/cpu/expand/lane_scans.h"

#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/combining.h"
#include "targets/cpu/analysis/last_reads.h"
#include "targets/cpu/expand/appends.h"
#include "targets/cpu/expand/layouts.h"
#include "targets/cpu/expand/permutation.h"

// Expands elementwise loops with scans of integers along contiguous memory. Integers may be combined in any order, so that
// the points of a vector are combined in registers: first each lane with the lane before it, then with the lane two
// before it, and so on. For sums, four lanes become
//
//   a | b | c | d  ->  a | a + b | b + c | c + d  ->  a | a + b | a + b + c | a + b + c + d
//
// A vector that contains the accumulator in each lane is then combined with all of them. The points at the end of a row
// that do not fill a vector run one by one. So does the last point if it is the only one whose result is read.

namespace kdl::cpu {

namespace {

/// Inserts a copy of the elementwise loop whose last axis is that of its scans.
Op* MakeLoopAlong(Expander& e, const Op* elementwise, AxisId axis) {
  ir::Builder b(e.module, const_cast<Op*>(elementwise));
  ir::ValueMap copies;
  Op* loop = ir::Clone(elementwise, b, copies);
  size_t last = loop->operands().size() - 1;
  size_t at = 0;
  while (loop->operand(at)->type()->axes[0] != axis) ++at;
  if (at == last) return loop;
  Value* block = loop->operand(at);
  loop->SetOperand(at, loop->operand(last));
  loop->SetOperand(last, block);
  Value* first = loop->region()->param(at);
  Value* second = loop->region()->param(last);
  std::vector<ir::Use> uses = first->uses();
  second->ReplaceAllUsesWith(first);
  for (const ir::Use& use : uses) use.user->SetOperand(use.operand, second);
  return loop;
}

class LaneScans {
 public:
  LaneScans(ElementwiseLoopBody& body, bool stores_ends)
      : e_(body.e()), body_(body), axis_(body.axes().back()), stores_ends_(stores_ends) {}

  void ExpandLoop() {
    body_.StopLookingAhead();
    body_.Around(axis_, axis_, [&] {
      body_.Expand({}, [&](const Op* op) { return body_.last().IsInvariant(op); });
      RunRow(e_.WindowOf(body_.elementwise(), axis_));
    });
  }

 private:
  void RunRow(const Window& row) {
    int64_t lanes = body_.Lanes();
    Value* before_end = e_.b.Max(e_.b.Sub(row.size, e_.b.I64(1)), e_.b.I64(0));
    Value* size = stores_ends_ ? before_end : row.size;
    Value* end = e_.b.Add(row.lo, RoundDown(e_, size, lanes));
    std::vector<const Op*> scans = ScansIn(body_.elementwise());
    Values carried;
    for (const Op* scan : scans) {
      Value* init = e_.Scalar(scan->Segment(ir::ScanInLoopOp::at_inits)[0]);
      carried.push_back(CarriesVector(scan) ? e_.b.Splat(init, lanes) : init);
    }
    carried = MakeLoop(
        e_.b, {row.lo, end, lanes}, carried,
        [&](Value* index, const Values& before) { return RunChunk(index, {lanes}, before); });
    for (Value*& value : carried) value = FirstLane(value);
    MakeLoop(e_.b, {end, row.hi}, carried, [&](Value* index, const Values& before) {
      Value* is_last = e_.b.Eq(e_.b.Add(index, e_.b.I64(1)), row.hi);
      body_.store_conditions.assign(body_.elementwise()->results().size(), is_last);
      return RunChunk(index, {}, before);
    });
  }

  /// Runs the body for a chunk and returns the accumulators after it.
  Values RunChunk(Value* index, const Chunk& chunk, const Values& before) {
    Values after;
    body_.position()[axis_] = index;
    body_.Locally([&] {
      body_.MapPoint(body_.axes().size() - 1);
      body_.accumulators = before;
      body_.Expand(chunk, [&](const Op* op) {
        bool stores_result = op->kind() == OpKind::Yield && chunk.lanes > 1;
        return !stores_result && !body_.last().IsInvariant(op);
      });
      after = body_.accumulators;
    });
    return after;
  }

  /// Whether the accumulator of the scan is the same in all lanes of a vector, and not a scalar.
  static bool CarriesVector(const Op* scan) { return !scan->HasAttr(AttrKey::Append); }

  Value* FirstLane(Value* vector) {
    while (ir::IsVector(vector->type())) {
      ir::Type half = e_.VectorType(vector->type()->scalar, ir::Lanes(vector->type()) / 2);
      vector = e_.b.Make(OpKind::Half, {vector}, half, {ir::MakeAttr<AttrKey::Part>(int64_t{0})});
    }
    return vector;
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  AxisId axis_;       ///< the axis of the scans
  bool stores_ends_;  ///< whether the results at the last point of each row are stored
};

}  // namespace

Value* ElementwiseLoopBody::CombineBefore(const Op* scan, Value* terms) {
  ir::Type type = terms->type();
  Value* identity = e_.b.Splat(
      e_.b.Bits(type->scalar, ir::UpdateIdentity(*UpdateLike(scan), type->scalar)), chunk_.lanes);
  int64_t part = kPartBytes / Bytes(type->scalar);
  for (int64_t distance = 1; distance < chunk_.lanes; distance *= 2) {
    ir::NumberList picked;
    for (int64_t lane = 0; lane < chunk_.lanes; ++lane) {
      // Lanes move within the parts of a vector first, and then a part needs only the last lane of an earlier one.
      bool in_part = distance < part;
      bool exists = in_part ? lane % part >= distance : lane / distance % 2 == 1;
      int64_t before = in_part ? lane - distance : lane / distance * distance - 1;
      picked.push_back(exists ? before : chunk_.lanes + lane);
    }
    Value* moved = MakeOne(e_.b, OpKind::Pick, {{terms, identity}}, type,
                           {ir::MakeAttr<AttrKey::Picked>(std::move(picked))});
    terms = StepOnce(e_, scan, {moved}, {terms}, chunk_.lanes)[0];
  }
  return terms;
}

void ElementwiseLoopBody::ExpandScanAlong(const Op* scan) {
  if (scan->HasAttr(AttrKey::Append)) return ExpandPlaces(scan);
  Value* term = Lane(scan->Segment(ir::ScanInLoopOp::at_values)[0]);
  Value* combined = CombineBefore(scan, e_.b.Splat(term, chunk_.lanes));
  ir::NumberList last(static_cast<size_t>(chunk_.lanes), chunk_.lanes - 1);
  Value* all = MakeOne(e_.b, OpKind::Pick, {{combined}}, combined->type(),
                       {ir::MakeAttr<AttrKey::Picked>(std::move(last))});
  Value*& accumulator = accumulators[scanned_++];
  map_[scan->result()] = StepOnce(e_, scan, {accumulator}, {combined}, chunk_.lanes)[0];
  accumulator = StepOnce(e_, scan, {accumulator}, {all}, chunk_.lanes)[0];
}

bool ExpandLaneScans(ElementwiseLoopBody& body) {
  Expander& e = body.e();
  AxisId axis = *body.last().scan_axis();
  const Op* elementwise = body.elementwise();
  if (!ReadTilesLieAlong(e, elementwise, axis) || !CompressesAppends(e, elementwise)) return false;
  bool stores_ends = false;
  for (const Value* result : elementwise->results()) {
    if (result->uses().empty()) continue;
    if (!IsReadOnlyAtEnd(elementwise, result, axis, ir::DirectionKind::Up)) return false;
    stores_ends = true;
  }
  Op* loop = MakeLoopAlong(e, elementwise, axis);
  bool expands = false;
  {
    ElementwiseLoopBody along(e, loop, body);
    expands = along.last().Vectorizes() && along.Lanes() > 1 &&
              e.Extent(axis) >= 2 * along.Lanes() && NeighborsLieAlong(e, loop, along.last());
    if (expands) LaneScans(along, stores_ends).ExpandLoop();
  }
  ir::Erase(loop);
  return expands;
}

}  // namespace kdl::cpu
