#include "passes/check_statics.h"

#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

// check-statics: evaluates static assertions, whose conditions must be constants by now. Reports an error for
// each assertion that fails, and removes all of them.

namespace kdl::passes {

namespace {

proofs::Sizes KnownParameters(const ir::Function& kernel) {
  proofs::Sizes known;
  for (const ir::Generic& generic : kernel.generics) {
    if (generic.values.size() == 1) known[generic.name] = generic.values[0];
  }
  return known;
}

void ReportFalse(PassContext& context, const Op* assertion) {
  context.diagnostics.Report(diag::StaticAssertFails, context.SpanOf(assertion->loc()),
                             assertion->attr<AttrKey::Text>().text());
}

}  // namespace

void ReportFalseStatics(PassContext& context) {
  for (ir::Function* kernel : context.module.functions()) {
    if (kernel->kind != ir::FunctionKind::Kernel) continue;
    for (const Op* op : OpsOfKind(*kernel, OpKind::StaticAssert)) {
      bool is_false = proofs::ConstantBits(op->operand(0), KnownParameters(*kernel)) == uint64_t{0};
      if (is_false) ReportFalse(context, op);
    }
  }
}

void RunCheckStatics(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::StaticAssert)) {
    std::optional<uint64_t> holds = proofs::ConstantBits(op->operand(0));
    if (!holds) {
      context.diagnostics.Report(diag::StaticAssertOpen, context.SpanOf(op->loc()));
    } else if (*holds == 0) {
      ReportFalse(context, op);
    }
    ir::Erase(op);
  }
}

}  // namespace kdl::passes
