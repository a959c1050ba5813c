#include "targets/cpu/expand/accumulate.h"

#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "targets/cpu/expand/fold_notes.h"

// Determines what reductions start from and what they accumulate: elements of a value, or products of two
// elements.

namespace kdl::cpu {

namespace {

Accumulation Singles(Expander& e, const ir::Op* op, Value* value) {
  auto fold = op->attr<AttrKey::Reduction>();
  auto acc = op->attr<AttrKey::Acc>();
  OpKind combine = ir::CombineOf(fold);
  auto together = [&e, combine](Value* a, Value* b) { return e.b.Binary(combine, a, b); };
  return {
      op,       op->attr<AttrKey::Axes>(),
      {value},  acc,
      nullptr,  e.b.Bits(acc, ir::FoldIdentity(fold, acc)),
      together, [together](Value* sum, const Values& terms) { return together(sum, terms[0]); }};
}

/// Emits the accumulation of one term: an fma, or the op that the matrix instruction uses for a term.
Value* MultiplyAdd(Expander& e, const ir::MatrixInstruction* instruction, Value* a, Value* b,
                   Value* c) {
  if (instruction) {
    Value* const operands[] = {a, b, c};
    return e.b.Make(instruction->term, {a, b, c}, e.b.ElementwiseType(instruction->acc, operands));
  }
  if (IsFloat(c->type()->scalar)) return e.b.Fma(a, b, c);
  return e.b.Add(c, e.b.Mul(a, b));
}

Accumulation Products(Expander& e, const ir::Op* op, const Values& factors, Value* into) {
  auto acc = op->attr<AttrKey::Acc>();
  const ir::MatrixInstruction* instruction = ir::InstructionOf(*op, e.module.context());
  if (instruction && instruction->order == ir::StepOrder::Any && !IsNative(e.facts, instruction))
    instruction = nullptr;
  return {op,
          op->attr<AttrKey::Axes>(),
          factors,
          acc,
          into,
          e.b.Bits(acc, 0),
          [&e](Value* sum, Value* other) { return e.b.Add(sum, other); },
          [&e, instruction](Value* sum, const Values& terms) {
            return MultiplyAdd(e, instruction, terms[0], terms[1], sum);
          },
          instruction};
}

}  // namespace

Accumulation AccumulationOf(Expander& e, const ir::Op* op) {
  if (op->kind() == OpKind::Reduce) return Singles(e, op, op->operand(0));
  auto terms = op->Segment(ir::ReduceInLoopOp::at_terms);
  if (op->kind() == OpKind::ReduceInLoop && terms.size() == 1) return Singles(e, op, terms[0]);
  if (op->kind() == OpKind::ReduceInLoop) {
    ir::ReduceInLoopOp fold(const_cast<ir::Op*>(op));
    return Products(e, op, {terms[0], terms[1]}, fold.into());
  }
  ir::ContractionOp contraction(const_cast<ir::Op*>(op));
  Accumulation what = Products(e, op, {contraction.a(), contraction.b()}, contraction.into());
  what.plus = contraction.plus();
  return what;
}

bool AddsIntegers(const Accumulation& what) {
  const ir::Attr* kind = what.op->FindAttr(AttrKey::Reduction);
  bool adds = !kind || what.op->attr<AttrKey::Reduction>() == ir::ReductionKind::Sum;
  return adds && IsInteger(what.acc) && Bytes(what.acc) <= 4;
}

void ExpandFold(Expander& e, const ir::Op* op) {
  Accumulation what = AccumulationOf(e, op);
  NoteFold(e, op, what.operands);
  bool lanes = op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
  if (lanes) return AccumulateLanes(e, what);
  AccumulateBlock(e, what);
}

}  // namespace kdl::cpu
