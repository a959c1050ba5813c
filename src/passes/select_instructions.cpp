#include "ir/op_kind.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// select-instructions: chooses the target's best matrix instruction for each contraction in sequential order,
// depending on the types that are multiplied. The interpreter computes such a contraction exactly like the
// instruction. Contractions in 64-lane order get no instruction.
//
//   contraction %a, %b into %c over k {acc = f32, order = sequential}
//   ->  … {acc = f32, order = sequential, instruction = "cpu.bf16_pairs"}

namespace kdl::passes {

void RunSelectInstructions(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.facts, "select-instructions needs a target");
  for (ir::Op* op : OpsOfKind(kernel, ir::OpKind::Contraction)) {
    const ir::MatrixInstruction* instruction =
        ir::BestInstruction(context.facts->instructions, *op);
    if (!instruction) continue;
    Name name = context.module.context().names.Intern(instruction->name);
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Instruction>(name));
  }
}

}  // namespace kdl::passes
