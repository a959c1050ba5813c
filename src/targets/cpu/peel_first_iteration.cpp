#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/passes.h"

// peel-first-iteration: if a loop's contraction accumulates in a buffer that is filled with one value before
// the loop, the first iteration starts from that value instead. The buffer is filled only if the loop has no
// iterations.
//
//   %z = elementwise { yield %v }               if %lo < %hi { } else {
//   store_tile %z to %h                           %z = elementwise { yield %v } ; store_tile %z to %h }
//   loop %n in %lo .. %hi {                ->   loop %n in %lo .. %hi {
//     %t = load_tile %h                           %f = eq %n, %lo
//     %u = contraction %a, %b into %t             %t = load_tile %h or %v if %f
//     store_tile %u to %h }                       … }

namespace kdl::cpu {

namespace {

/// Returns the elementwise loop that makes the stored tile, if it yields a single value that is the same at
/// all points. Otherwise returns null. An index differs between points.
Op* FillLoop(const Op* put) {
  Op* elementwise = put->kind() == OpKind::StoreTile ? put->operand(0)->def() : nullptr;
  bool fills = elementwise && elementwise->kind() == OpKind::Elementwise &&
               elementwise->results().size() == 1 &&
               elementwise->region()->first()->kind() == OpKind::Yield &&
               !IsInside(elementwise->region()->terminator()->operand(0), elementwise);
  return fills ? elementwise : nullptr;
}

/// Returns the op that fills the buffer before the loop, if it is the last one to access the buffer there.
/// Otherwise returns null.
Op* FillingStore(const Op* loop, const Value* tile_buffer) {
  Op* before = loop->prev();
  while (before && !Touches(before, tile_buffer)) before = before->prev();
  return before && FillLoop(before) ? before : nullptr;
}

void FillWithoutIterations(ir::Builder& b, ir::LoopOp loop, Op* put) {
  Op* fill = FillLoop(put);
  b.SetInsertionPoint(loop.op);
  b.set_loc(fill->loc());
  Value* runs = b.Lt(loop.lo(), loop.hi());
  Op* branch = MakeBranch(b, runs);
  MoveInto(branch->region(1), fill);
  MoveInto(branch->region(1), put);
}

void StartFirstIteration(ir::Builder& b, ir::LoopOp loop, Op* get, Value* value) {
  b.StandAt(get);
  Value* is_first = b.Eq(loop->region()->param(0), loop.lo());
  Value* instead[] = {value};
  Value* condition[] = {is_first};
  get->SetSegment(ir::LoadTileOp::at_value, instead);
  get->SetSegment(ir::LoadTileOp::at_condition, condition);
}

}  // namespace

void RunPeelFirstIteration(PassContext& context, ir::Function& kernel) {
  ir::Builder b(context.module);
  for (Op* op : passes::OpsOfKind(kernel, OpKind::Loop)) {
    ir::LoopOp loop(op);
    for (const Value* tile_buffer : AccumulatedIn(op)) {
      Op* put = FillingStore(op, tile_buffer);
      if (!put) continue;
      Op* get = AccumulatorOf(op, tile_buffer)->Segment(ir::ContractionOp::at_into)[0]->def();
      StartFirstIteration(b, loop, get, FillLoop(put)->region()->terminator()->operand(0));
      FillWithoutIterations(b, loop, put);
    }
  }
}

}  // namespace kdl::cpu
