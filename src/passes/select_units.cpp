#include <algorithm>

#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/check.h"

// select-units: a contraction in one chain takes the steps of the first of the target's units that multiplies what it
// multiplies; the interpreter does so, too. Lanes have an order of their own.
//
//   contraction %a, %b into %c over k {acc = f32, order = chain}   ->   … {acc = f32, order = chain, unit = "cpu.bf16x2"}

namespace kdl::passes {

void RunSelectUnits(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.facts, "select-units runs for a target");
  for (ir::Op* op : OpsOfKind(kernel, ir::OpKind::Contraction)) {
    auto suits = [&](const ir::Unit* unit) { return ir::Suits(*unit, *op); };
    auto unit = std::ranges::find_if(context.facts->units, suits);
    if (unit == context.facts->units.end()) continue;
    Name name = context.module.context().names.Intern((*unit)->name);
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Unit>(name));
  }
}

}  // namespace kdl::passes
