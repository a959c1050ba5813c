#include "ir/eval.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/check.h"

// check-statics: what `static_assert` states is a constant by now; where it does not hold that is an error, and the op is
// gone.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// The bits of a scalar that is made of constants.
std::optional<uint64_t> BitsOf(const Value* value) {
  const Op* op = value->def();
  if (!op) return std::nullopt;
  if (op->kind() == OpKind::Const) return static_cast<uint64_t>(op->attr<AttrKey::Bits>());
  if (!op->info().has(ir::kElementwise) || op->operands().size() > 3) return std::nullopt;
  uint64_t bits[3];
  for (size_t i = 0; i < op->operands().size(); ++i) {
    std::optional<uint64_t> operand = BitsOf(op->operand(i));
    if (!operand) return std::nullopt;
    bits[i] = *operand;
  }
  Scalar operand = op->operands().back()->type()->scalar;
  return ir::Evaluate(op->kind(), operand, op->result()->type()->scalar, bits);
}

}  // namespace

void RunCheckStatics(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::StaticAssert)) {
    std::optional<uint64_t> holds = BitsOf(op->operand(0));
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
