#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

using ir::AttrKey;
using ir::OpKind;

Accumulation AccumulationOf(Expander& e, const ir::Op* op) {
  if (op->kind() == OpKind::Reduce) return Singles(e, op, op->operand(0));
  auto terms = op->Segment(ir::FoldInOp::at_terms);
  if (op->kind() == OpKind::FoldIn && terms.size() == 1) return Singles(e, op, terms[0]);
  if (op->kind() == OpKind::FoldIn) {
    ir::FoldInOp fold(const_cast<ir::Op*>(op));
    return Products(e, op, {terms[0], terms[1]}, fold.into());
  }
  ir::ContractionOp contraction(const_cast<ir::Op*>(op));
  return Products(e, op, {contraction.a(), contraction.b()}, contraction.into());
}

void ExpandFold(Expander& e, const ir::Op* op) {
  Accumulation what = AccumulationOf(e, op);
  bool lanes = op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
  if (lanes) return AccumulateLanes(e, what);
  AccumulateBlock(e, what);
}

}  // namespace kdl::cpu
