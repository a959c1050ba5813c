#include <fmt/format.h>

#include <algorithm>

#include "ir/format.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

// Verifies block copies between tensors and buffers of a workgroup.

namespace kdl::ir {

namespace {

bool IsOfWorkgroup(const Value* value) {
  return value->type()->kind == TypeKind::Buffer && value->type()->space == Space::Workgroup;
}

std::string CopyFault(const Op& op, const Value* tensor, const Value* buffer, Values place,
                      Values sizes) {
  if (std::string fault = AccessFault(op, tensor); !fault.empty()) return fault;
  for (const Value* index : op.Segment(AccessOperands(op.kind()))) {
    if (!IsScalar(index->type())) return "an index is not a scalar";
  }
  if (!IsOfWorkgroup(buffer)) return "the buffer is not in workgroup memory";
  if (buffer->type()->scalar != tensor->type()->scalar)
    return "tensor and buffer have different element types";
  if (place.size() != buffer->type()->dims.size())
    return fmt::format("the number of indices is {}, but the number of dimensions is {}",
                       place.size(), buffer->type()->dims.size());
  const NumberList along = op.attr<AttrKey::Along>();
  if (along.empty() || along.size() > 2 || along.size() > place.size())
    return "a copy must have one or two dimensions";
  auto rank = static_cast<int64_t>(tensor->type()->dims.size());
  bool ascends = std::ranges::is_sorted(along) && along.front() != along.back();
  if ((along.size() == 2 && !ascends) || along.front() < 0 || along.back() >= rank)
    return "'along' does not list dimensions of the tensor in ascending order";
  if (sizes.size() != along.size()) return "it requires one size for each dimension";
  std::string fault = AllI64(place);
  return fault.empty() ? AllI64(sizes) : fault;
}

std::string CopyInFault(const Op& op, const Module&) {
  CopyInOp copy(const_cast<Op*>(&op));
  return CopyFault(op, copy.tensor(), copy.buffer(), copy.place(), copy.sizes());
}

std::string CopyOutFault(const Op& op, const Module&) {
  CopyOutOp copy(const_cast<Op*>(&op));
  return CopyFault(op, copy.tensor(), copy.buffer(), copy.place(), copy.sizes());
}

std::string AwaitCopiesFault(const Op& op, const Module&) {
  if (!IsOfWorkgroup(op.operand(0))) return "the buffer is not in workgroup memory";
  Values part = op.Segment(AwaitCopiesOp::at_part);
  return part.size() <= 1 ? AllI64(part) : "the part has more than one index";
}

}  // namespace

KDL_TYPE_RULE(CopyIn, CopyInFault)
KDL_TYPE_RULE(CopyOut, CopyOutFault)
KDL_TYPE_RULE(AwaitCopies, AwaitCopiesFault)

}  // namespace kdl::ir
