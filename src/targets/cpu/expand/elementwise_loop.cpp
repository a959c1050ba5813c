#include <algorithm>

#include "ir/op_info.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/in_place.h"
#include "targets/cpu/expand/lane_folds.h"

// Expands an elementwise loop to loops whose body runs once for each chunk of the last axis. Ops that do not
// vary along that axis run before the innermost loop. The loops carry the accumulators of reductions. A body
// that cannot run on vectors, because it gathers, runs element by element.

namespace kdl::cpu {

namespace {

/// Emits an elementwise loop row by row.
class Rows {
 public:
  explicit Rows(ElementwiseLoopBody& body) : e_(body.e()), body_(body), axis_(body.axes().back()) {
    if (body.folds().empty()) streaming_ = StreamingOf(body, body.Lanes());
  }

  void ExpandRows() { body_.folds().empty() ? RunRows() : RunFolds(); }

 private:
  void RunRows() {
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
    Changes changes(body_);
    for (size_t i = 0; i < around.size(); ++i) changes.Narrow(i, 0);
    auto window = [&](AxisId axis) { return changes.NarrowedWindow(axis); };
    MakeElementwiseLoop(e_, window, around, body_.position(), [&] {
      BeginRow();
      changes.Narrow(around.size(), around.size());
      if (streaming_.large) {
        RunStreamed();
      } else {
        MakeChunks(e_, axis_, window(axis_), body_.Lanes(), body_.position(), Body(),
                   !TouchesTensors());
      }
    });
  }

  bool TouchesTensors() const {
    for (const Op* op : *body_.elementwise()->region()) {
      if (op->HasAttr(ir::AttrKey::BoundsMode)) return true;
    }
    return false;
  }

  /// Expands the ops whose results are the same for a whole row.
  void BeginRow() {
    for (size_t i = 0; i + 1 < body_.axes().size(); ++i) body_.MapPoint(i);
    body_.Expand({}, [&](const Op* op) { return body_.last().IsInvariant(op); });
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

  /// Returns, as a bool, whether rows come from memory and the body has few ops. In that case a processor
  /// prefetches better along several rows than along one. Returns null if the answer is always no, for
  /// example if another pass left the rows in a cache, or if this pass should.
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

  /// Returns those of the elementwise loop's results that its reductions compute, in their order.
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

  /// Emits the full vectors and then the rest of the row. From the first aligned vector on, the full vectors
  /// either bypass the caches or do not.
  void RunStreamed() {
    const Window row = e_.WindowOf(body_.elementwise(), axis_);
    RowStart start;
    body_.Locally([&] {
      body_.position()[axis_] = row.lo;
      body_.MapPoint(body_.axes().size() - 1);
      start = RowStartOf(body_, streaming_);
    });
    Value* large = start.agrees ? e_.b.And(streaming_.large, start.agrees) : streaming_.large;
    Value* end = MakeIf(
        e_.b, large, {e_.ScalarType(Scalar::I64)},
        [&]() -> Values {
          Value* gap = e_.b.Min(start.gap, row.size);
          Value* aligned = e_.b.Add(row.lo, gap);
          MakeRestOfChunks(e_, {axis_, row.lo, aligned}, body_.Lanes(), body_.position(), Body());
          body_.StorePastCaches(streaming_.stores);
          Values end = {MakeFullChunks(e_, {axis_, aligned, row.hi}, body_.Lanes(),
                                       body_.position(), Body())};
          body_.StorePastCaches({});
          return end;
        },
        [&]() -> Values {
          return {
              MakeFullChunks(e_, {axis_, row.lo, row.hi}, body_.Lanes(), body_.position(), Body())};
        })[0];
    MakeRestOfChunks(e_, {axis_, end, row.hi}, body_.Lanes(), body_.position(), Body());
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  ir::AxisId axis_;
  Streaming streaming_;
};

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
  } else {
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
