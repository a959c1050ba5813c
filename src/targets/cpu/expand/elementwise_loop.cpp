#include "ir/op_info.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_rows.h"
#include "targets/cpu/expand/loop_notes.h"

// Chooses how an elementwise loop is expanded.

namespace kdl::cpu {

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
  bool has_interior = false;
  if (body.last().scan_axis()) {
    ExpandScanLoop(body);
  } else if (MakesGroups(body)) {
    RunGroups(body);
  } else if (body.last().Transposes()) {
    RunRegisterTransposes(body);
  } else if (ExpandSplitRows(e, body)) {
    // Its rows have been emitted in parts.
  } else if (has_interior = ExpandFusedRows(e, body) || ExpandInteriorRows(e, body);
             !has_interior) {
    ElementwiseRows(body).ExpandRows();
  }
  if (!has_interior) NoteElementwiseLoop(body, op);
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
