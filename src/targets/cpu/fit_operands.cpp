#include "ir/views.h"
#include "passes/rewrite.h"
#include "targets/cpu/passes.h"

// fit-operands: what a contraction multiplies is made as its unit takes it, once, where it is made, not at every
// multiplication. Where no instruction takes narrow floats that is the accumulator's type, and flushed where the unit
// flushes.
//
//   contraction %a, %b into %c {acc = f32}   ->   %x = cast %a : tile<f32; …> ; %y = cast %b : … ; contraction %x, %y into %c

namespace kdl::cpu {

void RunFitOperands(PassContext& context, ir::Function& kernel) {
  ir::Builder builder(context.module);
  for (ir::Op* op : OpsOfKind(kernel, ir::OpKind::Contraction)) {
    const ir::Unit* unit = ir::UnitOf(*op, context.module.context());
    if (IsNative(FactsOf(context), unit)) continue;
    auto acc = op->attr<ir::AttrKey::Acc>();
    builder.SetInsertionPoint(op);
    builder.set_loc(op->loc());
    for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
      ir::Value* factor = builder.Cast(op->operand(i), acc);
      if (unit && unit->flushes) factor = builder.Unary(ir::OpKind::Flush, factor);
      op->SetOperand(i, factor);
    }
  }
}

}  // namespace kdl::cpu
