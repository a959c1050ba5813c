#include "passes/analysis/call_growth.h"

#include <algorithm>
#include <map>

#include "ir/views.h"
#include "passes/diagnostics.h"

namespace kdl::passes {

namespace {

/// Above what any kernel may have, and far from overflow when a few are added.
constexpr int64_t kCountedTo = int64_t{1} << 40;

/// Counts each function once, however often it is called; no fn reaches itself.
class InlinedSizes {
 public:
  explicit InlinedSizes(const ir::Module& module) : module_(module) {}

  /// The operations of a function and of all that it calls, at most kCountedTo.
  int64_t Of(const ir::Function& function) {
    auto found = sizes_.find(&function);
    if (found != sizes_.end()) return found->second;
    int64_t size = 0;
    ir::Walk(function.body, [&](const Op* op) { size = std::min(size + OfOp(op), kCountedTo); });
    sizes_.emplace(&function, size);
    return size;
  }

  int64_t OfOp(const Op* op) { return op->kind() == OpKind::Call ? Of(Callee(op)) : 1; }

  const ir::Function& Callee(const Op* call) const {
    return *module_.FindFunction(call->attr<ir::AttrKey::Callee>());
  }

 private:
  const ir::Module& module_;
  std::map<const ir::Function*, int64_t> sizes_;
};

/// The call that brings the most.
const Op* LargestCall(const ir::Function& kernel, InlinedSizes& sizes) {
  const Op* largest = nullptr;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::Call) return;
    if (largest == nullptr || sizes.OfOp(op) > sizes.OfOp(largest)) largest = op;
  });
  return largest;
}

}  // namespace

void CheckCallGrowth(PassContext& context) {
  InlinedSizes sizes(context.module);
  for (const ir::Function* function : context.module.functions()) {
    if (function->kind != ir::FunctionKind::Kernel || sizes.Of(*function) <= kMostInlinedOps)
      continue;
    const Op* call = LargestCall(*function, sizes);
    if (call == nullptr) continue;  // written out by hand
    context.diagnostics
        .Report(diag::CallsGrow, context.SpanOf(call->loc()), sizes.Callee(call).base_name(),
                function->base_name(), kMostInlinedOps)
        .Help("where a fn calls another one twice, let it call once, for what a `let` keeps");
  }
}

}  // namespace kdl::passes
