#include "ir/views.h"
#include "passes/rewrite.h"
#include "targets/cpu/passes.h"

// widen-operands: a contraction of narrow floats multiplies in its accumulator's type; the operands are widened once,
// where they are made, not at every multiplication.
//
//   contraction %a, %b into %c {acc = f32}   ->   %x = cast %a : tile<f32; …> ; %y = cast %b : … ; contraction %x, %y into %c

namespace kdl::cpu {

void RunWidenOperands(PassContext& context, ir::Function& kernel) {
  ir::Builder builder(context.module);
  for (ir::Op* op : OpsOfKind(kernel, ir::OpKind::Contraction)) {
    auto acc = op->attr<ir::AttrKey::Acc>();
    builder.SetInsertionPoint(op);
    builder.set_loc(op->loc());
    for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}})
      op->SetOperand(i, builder.Cast(op->operand(i), acc));
  }
}

}  // namespace kdl::cpu
