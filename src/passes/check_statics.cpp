#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

// check-statics: evaluates static assertions, whose conditions must be constants by now. Reports an error for
// each assertion that fails, and removes all of them.

namespace kdl::passes {

void RunCheckStatics(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::StaticAssert)) {
    std::optional<uint64_t> holds = proofs::ConstantBits(op->operand(0));
    if (!holds) {
      context.diagnostics.Report(diag::StaticAssertOpen, context.SpanOf(op->loc()));
    } else if (*holds == 0) {
      context.diagnostics.Report(diag::StaticAssertFails, context.SpanOf(op->loc()),
                                 op->attr<AttrKey::Text>().text());
    }
    ir::Erase(op);
  }
}

}  // namespace kdl::passes
