#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/passes.h"

// select-matrix-instructions: selects a matrix instruction of the machine for a product of two tiles, if the
// shape of the instruction divides the product's blocks. The interpreter emulates the selected instruction.
// Integer factors keep their own type instead of being converted to the type of the accumulator.
//
//   contraction %a, %b into %c over k {acc = f32, …, instruction = "cpu.bf16_pairs"}
//   ->  contraction %a, %b into %c over k {acc = f32, …, instruction = "simt.mma_bf16"}

namespace kdl::simt {

void RunSelectMatrixInstructions(PassContext& context, ir::Function& kernel) {
  SimtFacts facts = SimtFactsOf(context);
  for (ir::Op* op : OpsOfKind(kernel, ir::OpKind::Contraction)) {
    const MmaShape* instruction = BestMmaShape(facts, op);
    if (!instruction) continue;
    if (instruction->instruction->goes_on) facts.workgroup_bytes -= MbarrierOrderedBytes(op);
    Name name = context.module.context().names.Intern(instruction->instruction->name);
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Instruction>(name));
    for (size_t i : {0, 1}) op->SetOperand(i, ir::NarrowFactor(op->operand(i)));
  }
}

}  // namespace kdl::simt
