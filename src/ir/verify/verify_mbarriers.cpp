#include <fmt/format.h>

#include <algorithm>

#include "ir/format.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"
#include "support/scalar.h"

// Verifies mbarriers and the ops that use them. GPU threads of a workgroup use mbarriers to wait for one
// another and for copies.

namespace kdl::ir {

namespace {

bool IsMbarrierOrdered(const Value* buffer) {
  const Type type = buffer->type();
  return type->kind == TypeKind::Buffer && type->space == Space::Workgroup && buffer->def() &&
         buffer->def()->HasAttr(AttrKey::MbarrierOrdered);
}

std::string MbarriersFault(const Value* mbarriers) {
  bool are = IsMbarrierOrdered(mbarriers) && mbarriers->type()->scalar == Scalar::U64 &&
             mbarriers->type()->dims.size() == 1;
  return are ? ""
             : "the mbarriers are not a buffer of u64 in workgroup memory with 'mbarrier_ordered'";
}

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

/// Checks the dimensions of a tile copy, which copies elements along two dimensions of the tensor. The buffer
/// must consist of two-dimensional tiles (slots).
std::string TensorTileFault(const Op& op, const Value* tensor, const Value* buffer) {
  if (!IsMbarrierOrdered(buffer) || buffer->type()->dims.size() != 3)
    return "the buffer is not a workgroup buffer with 'mbarrier_ordered' and slots of two "
           "dimensions";
  if (buffer->type()->scalar != tensor->type()->scalar)
    return "the buffer does not have the element type of the tensor";
  const NumberList along = op.attr<AttrKey::Along>();
  auto rank = static_cast<int64_t>(tensor->type()->dims.size());
  bool fits = along.size() == 2 && 0 <= along[0] && along[0] < along[1] && along[1] == rank - 1;
  return fits ? "" : "'along' does not list two dimensions of the tensor, the last one at the end";
}

std::string TileCopyFault(const Op& op, const Module&) {
  TileCopyOp copy(const_cast<Op*>(&op));
  if (std::string fault = TensorTileFault(op, copy.tensor(), copy.buffer()); !fault.empty())
    return fault;
  if (std::string fault = MbarriersFault(copy.mbarriers()); !fault.empty()) return fault;
  if (copy.mbarriers()->type()->dims[0] != copy.buffer()->type()->dims[0])
    return "it requires one mbarrier for each slot";
  if (std::string fault = AllI64(op.Segment(TileCopyOp::at_slot)); !fault.empty()) return fault;
  return AccessFault(op, copy.tensor());
}

std::string TileCopyFitsFault(const Op& op, const Module&) {
  Type result = op.result()->type();
  if (!IsScalar(result) || result->scalar != Scalar::Bool) return "the result is not a bool";
  return TensorTileFault(op, op.operand(0), op.operand(1));
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
KDL_TYPE_RULE(TileCopy, TileCopyFault)
KDL_TYPE_RULE(TileCopyFits, TileCopyFitsFault)
KDL_TYPE_RULE(ProxyFence, ProxyFenceFault)
KDL_TYPE_RULE(MmaCommit, MmaCommitFault)
KDL_TYPE_RULE(MmaWait, MmaWaitFault)

}  // namespace kdl::ir
