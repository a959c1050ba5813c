#include <fmt/format.h>

#include <algorithm>

#include "ir/format.h"
#include "ir/lookup.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

// Verifies asynchronous copies between tensors and buffers of a workgroup.

namespace kdl::ir {

namespace {

bool IsOfWorkgroup(const Value* value) {
  return value->type()->kind == TypeKind::Buffer && value->type()->space == Space::Workgroup;
}

bool IsMbarrierOrdered(const Value* buffer) {
  return IsOfWorkgroup(buffer) && buffer->def() && buffer->def()->HasAttr(AttrKey::MbarrierOrdered);
}

/// Checks a copy that fills a slot, and arrives at the slot's mbarrier if there is one.
std::string FillFault(const Op& op, const CopyEnds& ends) {
  AsyncCopyOp copy(const_cast<Op*>(&op));
  if (!ends.in) return "a copy out of a buffer requires sizes, and cannot arrive at an mbarrier";
  if (std::string fault = SlotCopyFault(op, ends.tensor, ends.buffer); !fault.empty()) return fault;
  if (!copy.mbarriers())
    return copy.place().size() == 1 ? "" : "it requires one size for each dimension";
  if (!IsMbarrierOrdered(ends.buffer))
    return "the buffer of a copy that arrives at an mbarrier is not 'mbarrier_ordered'";
  if (std::string fault = MbarriersFault(copy.mbarriers()); !fault.empty()) return fault;
  if (copy.mbarriers()->type()->dims[0] != ends.buffer->type()->dims[0])
    return "it requires one mbarrier for each slot";
  bool is_whole = copy.place().size() == 1 && copy.sizes().empty();
  return is_whole ? "" : "a copy that arrives at an mbarrier fills one slot, without sizes";
}

/// Checks a copy of a tile with one or two dimensions.
std::string TileFault(const Op& op, const CopyEnds& ends) {
  AsyncCopyOp copy(const_cast<Op*>(&op));
  if (ends.buffer->type()->scalar != ends.tensor->type()->scalar)
    return "tensor and buffer have different element types";
  size_t rank = ends.buffer->type()->dims.size();
  if (copy.place().size() != rank)
    return fmt::format("the number of indices is {}, but the number of dimensions is {}",
                       copy.place().size(), rank);
  const NumberList along = op.attr<AttrKey::Along>();
  if (along.empty() || along.size() > 2 || along.size() > rank)
    return "a copy must have one or two dimensions";
  auto dimensions = static_cast<int64_t>(ends.tensor->type()->dims.size());
  bool ascends = along.size() == 1 || along[0] < along[1];
  if (!ascends || along.front() < 0 || along.back() >= dimensions)
    return "'along' does not list dimensions of the tensor in ascending order";
  return copy.sizes().size() == along.size() ? "" : "it requires one size for each dimension";
}

std::string AsyncCopyFault(const Op& op, const Module&) {
  AsyncCopyOp copy(const_cast<Op*>(&op));
  const CopyEnds ends = CopyEndsOf(&op);
  if (std::string fault = AccessFault(op, ends.tensor); !fault.empty()) return fault;
  for (const Value* index : copy.index()) {
    if (!IsScalar(index->type())) return "an index is not a scalar";
  }
  if (!IsOfWorkgroup(ends.buffer)) return "the buffer is not in workgroup memory";
  bool fills_slot = copy.mbarriers() || copy.sizes().empty();
  std::string fault = fills_slot ? FillFault(op, ends) : TileFault(op, ends);
  if (fault.empty()) fault = AllI64(copy.place());
  return fault.empty() ? AllI64(copy.sizes()) : fault;
}

std::string AsyncCopyCommitFault(const Op&, const Module&) { return ""; }

std::string AsyncCopyWaitFault(const Op& op, const Module&) {
  AsyncCopyWaitOp wait(const_cast<Op*>(&op));
  if (!std::ranges::all_of(wait.buffers(), IsOfWorkgroup) ||
      !std::ranges::all_of(wait.sources(), IsOfWorkgroup))
    return "an operand is not a buffer in workgroup memory";
  if (op.HasAttr(AttrKey::Ahead) && op.attr<AttrKey::Ahead>() < 0)
    return "the number of groups is below 0";
  return AllI64(op.Segment(AsyncCopyWaitOp::at_slot));
}

}  // namespace

std::string MbarriersFault(const Value* mbarriers) {
  bool are = IsMbarrierOrdered(mbarriers) && mbarriers->type()->scalar == Scalar::U64 &&
             mbarriers->type()->dims.size() == 1;
  return are ? ""
             : "the mbarriers are not a buffer of u64 in workgroup memory with 'mbarrier_ordered'";
}

std::string SlotCopyFault(const Op& op, const Value* tensor, const Value* buffer) {
  bool is_in_panels =
      IsOfWorkgroup(buffer) && buffer->def() && buffer->def()->HasAttr(AttrKey::Swizzle);
  if (!is_in_panels || buffer->type()->dims.size() != 3)
    return "the buffer is not a workgroup buffer with 'swizzle' and slots of two dimensions";
  if (buffer->type()->scalar != tensor->type()->scalar)
    return "the buffer does not have the element type of the tensor";
  const NumberList along = op.attr<AttrKey::Along>();
  auto rank = static_cast<int64_t>(tensor->type()->dims.size());
  bool fits = along.size() == 2 && 0 <= along[0] && along[0] < along[1] && along[1] == rank - 1;
  return fits ? "" : "'along' does not list two dimensions of the tensor, the last one at the end";
}

KDL_TYPE_RULE(AsyncCopy, AsyncCopyFault)
KDL_TYPE_RULE(AsyncCopyCommit, AsyncCopyCommitFault)
KDL_TYPE_RULE(AsyncCopyWait, AsyncCopyWaitFault)

}  // namespace kdl::ir
