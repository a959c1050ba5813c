#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/passes.h"

// peel-first-iteration: handles loops in which a contraction accumulates in a buffer that is filled with a
// single value before the loop. In the first iteration, the contraction starts from that value instead of
// loading the buffer. So the buffer is filled only if the loop has no iterations.
//
//   %z = elementwise { yield %v } ; store_tile %z to %h
//   loop %n in %lo .. %hi {
//     %t = load_tile %h
//     %u = contraction %a, %b into %t
//     store_tile %u to %h }
//   ->
//   if %lo < %hi { } else { %z = elementwise { yield %v } ; store_tile %z to %h }
//   loop %n in %lo .. %hi {
//     %f = eq %n, %lo
//     %t = load_tile %h or %v if %f
//     … }

namespace kdl::cpu {

namespace {

/// If the stored tile is made by an elementwise loop that only yields one value from outside the loop,
/// returns that loop. Otherwise returns null.
Op* FillLoop(const Op* put) {
  Op* elementwise = put->kind() == OpKind::StoreTile ? put->operand(0)->def() : nullptr;
  bool fills = elementwise && elementwise->kind() == OpKind::Elementwise &&
               elementwise->results().size() == 1 &&
               elementwise->region()->first()->kind() == OpKind::Yield &&
               !IsInside(elementwise->region()->terminator()->operand(0), elementwise);
  return fills ? elementwise : nullptr;
}

/// Returns the last op before the loop that accesses the buffer, if that op fills the buffer. Otherwise
/// returns null.
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
  if (context.keeps_tiles) return;  // tiles would disappear
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
