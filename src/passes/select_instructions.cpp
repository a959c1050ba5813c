#include "ir/op_kind.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// select-instructions: a contraction in one chain takes the steps of the best of the target's units that multiply what it
// multiplies; the interpreter does so, too. Lanes have an order of their own.
//
//   contraction %a, %b into %c over k {acc = f32, order = sequential}   ->   … {acc = f32, order = sequential, instruction = "cpu.bf16_pairs"}

namespace kdl::passes {

void RunSelectInstructions(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.facts, "select-instructions runs for a target");
  for (ir::Op* op : OpsOfKind(kernel, ir::OpKind::Contraction)) {
    const ir::MatrixInstruction* instruction =
        ir::BestInstruction(context.facts->instructions, *op);
    if (!instruction) continue;
    Name name = context.module.context().names.Intern(instruction->name);
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Instruction>(name));
  }
}

}  // namespace kdl::passes
