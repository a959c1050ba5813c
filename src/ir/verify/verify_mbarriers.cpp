#include <algorithm>

#include "ir/verify/verify_rules.h"

// Verifies mbarriers and the ops that use them. GPU threads of a workgroup use mbarriers to wait for one
// another and for copies.

namespace kdl::ir {

namespace {

std::string MbarrierInitFault(const Op& op, const Module&) {
  if (op.attr<AttrKey::Arrivals>() < 1) return "the number of arrivals is below 1";
  return MbarriersFault(op.operand(0));
}

std::string MbarrierInvalidateFault(const Op& op, const Module&) {
  return MbarriersFault(op.operand(0));
}

std::string MbarrierFault(const Op& op, const Module&) {
  if (std::string fault = MbarriersFault(op.operand(0)); !fault.empty()) return fault;
  return AllI64(Values(op.operands()).subspan(1));
}

std::string TileCopyFitsFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  if (!IsScalar(result) || result->scalar != Scalar::Bool) return "the result is not a bool";
  return SlotCopyFault(op, op.operand(0), op.operand(1));
}

std::string ProxyFenceFault(const Op&, const Module&) { return ""; }
std::string MmaCommitFault(const Op&, const Module&) { return ""; }

std::string MmaWaitFault(const Op& op, const Module&) {
  bool are_own = std::ranges::all_of(op.operands(), [](const Value* operand) {
    return operand->type()->kind == TypeKind::Buffer && operand->type()->space != Space::Workgroup;
  });
  if (!are_own) return "an operand is not a private buffer of a thread";
  return op.attr<AttrKey::Ahead>() >= 0 ? "" : "the number of groups is below 0";
}

}  // namespace

KDL_TYPE_RULE(MbarrierInit, MbarrierInitFault)
KDL_TYPE_RULE(MbarrierInvalidate, MbarrierInvalidateFault)
KDL_TYPE_RULE(MbarrierArrive, MbarrierFault)
KDL_TYPE_RULE(MbarrierWait, MbarrierFault)
KDL_TYPE_RULE(TileCopyFits, TileCopyFitsFault)
KDL_TYPE_RULE(ProxyFence, ProxyFenceFault)
KDL_TYPE_RULE(MmaCommit, MmaCommitFault)
KDL_TYPE_RULE(MmaWait, MmaWaitFault)

}  // namespace kdl::ir
