#include "passes/analysis/call_growth.h"

#include <algorithm>
#include <map>

#include "ir/views.h"
#include "passes/diagnostics.h"

namespace kdl::passes {

namespace {

/// Counting stops at this number. It is larger than the number of ops that any kernel may have, but small
/// enough that the sum of a few such numbers does not overflow.
constexpr int64_t kCountedTo = int64_t{1} << 40;

/// Counts the ops of each function once, no matter how often it is called. No fn calls itself, even
/// indirectly.
class InlinedSizes {
 public:
  explicit InlinedSizes(const ir::Module& module) : module_(module) {}

  /// Returns the number of ops of a function and of all functions that it calls, at most kCountedTo.
  int64_t OpCount(const ir::Function& function) {
    auto found = sizes_.find(&function);
    if (found != sizes_.end()) return found->second;
    int64_t size = 0;
    ir::Walk(function.body,
             [&](const Op* op) { size = std::min(size + InlinedOpCount(op), kCountedTo); });
    sizes_.emplace(&function, size);
    return size;
  }

  int64_t InlinedOpCount(const Op* op) {
    return op->kind() == OpKind::Call ? OpCount(Callee(op)) : 1;
  }

  const ir::Function& Callee(const Op* call) const {
    return *module_.FindFunction(call->attr<ir::AttrKey::Callee>());
  }

 private:
  const ir::Module& module_;
  std::map<const ir::Function*, int64_t> sizes_;
};

/// Returns the call that adds the most ops.
const Op* LargestCall(const ir::Function& kernel, InlinedSizes& sizes) {
  const Op* largest = nullptr;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::Call) return;
    if (largest == nullptr || sizes.InlinedOpCount(op) > sizes.InlinedOpCount(largest))
      largest = op;
  });
  return largest;
}

}  // namespace

void CheckCallGrowth(PassContext& context) {
  InlinedSizes sizes(context.module);
  for (const ir::Function* function : context.module.functions()) {
    if (function->kind != ir::FunctionKind::Kernel || sizes.OpCount(*function) <= kMostInlinedOps)
      continue;
    const Op* call = LargestCall(*function, sizes);
    if (call == nullptr) continue;  // the kernel is too large even without calls
    context.diagnostics
        .Report(diag::CallsGrow, context.SpanOf(call->loc()), sizes.Callee(call).base_name(),
                function->base_name(), kMostInlinedOps)
        .Help("if a fn calls another fn twice, call it once and keep the result in a `let`");
  }
}

}  // namespace kdl::passes
