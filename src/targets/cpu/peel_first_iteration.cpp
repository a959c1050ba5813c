#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/passes.h"

// peel-first-iteration: a tile buffer that a contraction goes on from, turn by turn, and that is filled with one value before is not filled: the
// first turn starts from the value. Where the loop has no turn it is filled after all.
//
//   %z = elementwise loop { yield %v } ; store_tile %z to %h          if %lo < %hi { } else { %z = elementwise loop { yield %v } ; store_tile %z to %h }
//   loop %n in %lo .. %hi {                   ->   loop %n in %lo .. %hi {
//     %t = load_tile %h                                    %f = eq %n, %lo
//     %u = contraction %a, %b into %t                %t = load_tile %h or %v if %f
//     store_tile %u to %h }                                 … }

namespace kdl::cpu {

namespace {

/// The elementwise loop that makes what is put, where it only yields one value, the same at all points: an index is another one at each.
Op* FillOf(const Op* put) {
  Op* elementwise = put->kind() == OpKind::StoreTile ? put->operand(0)->def() : nullptr;
  bool fills = elementwise && elementwise->kind() == OpKind::Elementwise &&
               elementwise->results().size() == 1 &&
               elementwise->region()->first()->kind() == OpKind::Yield &&
               !IsInside(elementwise->region()->terminator()->operand(0), elementwise);
  return fills ? elementwise : nullptr;
}

/// What only fills the tile buffer before the loop, the last to touch it there; null: there is no such put.
Op* FillingStore(const Op* loop, const Value* tile_buffer) {
  Op* before = loop->prev();
  while (before && !Touches(before, tile_buffer)) before = before->prev();
  return before && FillOf(before) ? before : nullptr;
}

void FillWithoutIterations(ir::Builder& b, ir::LoopOp loop, Op* put) {
  Op* fill = FillOf(put);
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
      StartFirstIteration(b, loop, get, FillOf(put)->region()->terminator()->operand(0));
      FillWithoutIterations(b, loop, put);
    }
  }
}

}  // namespace kdl::cpu
