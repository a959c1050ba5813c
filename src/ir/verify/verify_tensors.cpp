#include <fmt/format.h>

#include <algorithm>

#include "ir/format.h"
#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

std::string BlockFactFault(const Op& op, const Module&) {
  if (!IsBlock(op.operand(0))) return "the operand is not a block";
  return IsI64(op.result()) ? "" : "the result is not an i64";
}

std::string MakeBlockFault(const Op& op, const Module&) {
  return IsBlock(op.result()) ? AllI64(op.operands()) : "the result is not a block";
}

std::string IotaFault(const Op& op, const Module&) {
  if (!IsBlock(op.operand(0))) return "the operand is not a block";
  Type type = op.result()->type();
  bool fits =
      IsTile(type) && type->scalar == Scalar::I64 && type->axes == op.operand(0)->type()->axes;
  return fits ? "" : "the result is not an i64 tile over the block's axis";
}

/// Checks a load or store of a vector. It must have scalar indices, `bounds = proven`, and a mask with the
/// same number of lanes as the vector.
std::string VectorAccessFault(const Op& op, const Value* tensor, Type vector, Values mask) {
  if (vector->scalar != tensor->type()->scalar)
    return "the vector does not have the element type of the tensor";
  for (const Value* index : op.Segment(AccessOperands(op.kind()))) {
    if (!IsScalar(index->type())) return "an index of a vector access is not a scalar";
  }
  if (op.attr<AttrKey::BoundsMode>() != BoundsMode::Proven)
    return "the bounds mode of a vector access is not 'proven'";
  if (tensor->type()->dims.empty()) return "a tensor without dimensions has no vectors";
  return LaneMaskFault(mask, vector);
}

std::string LoadFault(const Op& op, const Module&) {
  const Value* tensor = op.Segment(LoadOp::at_tensor)[0];
  std::string fault = AccessFault(op, tensor);
  if (fault.empty() && IsVector(op.result()->type())) {
    return op.Segment(LoadOp::at_otherwise).empty()
               ? VectorAccessFault(op, tensor, op.result()->type(), op.Segment(LoadOp::at_mask))
               : "a vector access has a value for elements outside";
  }
  if (fault.empty()) fault = MaskFault(op.Segment(LoadOp::at_mask));
  if (!fault.empty()) return fault;
  Values otherwise = op.Segment(LoadOp::at_otherwise);
  bool is_else = op.attr<AttrKey::BoundsMode>() == BoundsMode::Else;
  if (is_else == otherwise.empty())
    return is_else ? "bounds mode 'else' without a value for elements outside"
                   : "a value for elements outside, but the bounds mode is not 'else'";
  Scalar scalar = tensor->type()->scalar;
  if (!otherwise.empty() &&
      (!IsTile(otherwise[0]->type()) || otherwise[0]->type()->scalar != scalar)) {
    return "the value for elements outside does not have the element type of the tensor";
  }
  std::vector<AxisId> axes = OperandAxes(op.Segment(LoadOp::at_index));
  axes = OperandAxes(op.Segment(LoadOp::at_mask), OperandAxes(otherwise, axes));
  Type type = op.result()->type();
  if (!IsTile(type) || type->scalar != scalar)
    return fmt::format("the element type of the result is not {}", Spelling(scalar));
  return type->axes == axes
             ? ""
             : "the axes of the result are not those of the indices, the mask and the value for "
               "elements outside";
}

std::string StoreFault(const Op& op, const Module&) {
  const Value* tensor = op.Segment(StoreOp::at_tensor)[0];
  std::string fault = AccessFault(op, tensor);
  bool vector = IsVector(op.operand(0)->type());
  if (op.HasAttr(AttrKey::Cache) && (!vector || !op.Segment(StoreOp::at_mask).empty()))
    return "only a vector without a mask can bypass the caches";
  if (fault.empty() && vector)
    return VectorAccessFault(op, tensor, op.operand(0)->type(), op.Segment(StoreOp::at_mask));
  if (fault.empty()) fault = MaskFault(op.Segment(StoreOp::at_mask));
  if (!fault.empty()) return fault;
  if (op.attr<AttrKey::BoundsMode>() == BoundsMode::Else)
    return "a store cannot have a value for elements outside";
  Type value = op.Segment(StoreOp::at_value)[0]->type();
  if (!IsTile(value) || value->scalar != tensor->type()->scalar)
    return "the value does not have the element type of the tensor";
  std::vector<AxisId> axes = OperandAxes(op.Segment(StoreOp::at_index));
  if (!Includes(axes, value->axes)) return "the value has an axis that no index has";
  return Includes(axes, OperandAxes(op.Segment(StoreOp::at_mask)))
             ? ElementwisePlaceFault(op)
             : "the mask has an axis that no index has";
}

bool HasUpdate(UpdateKind how, Scalar scalar) {
  bool is_arithmetic = how == UpdateKind::Add || how == UpdateKind::Mul || how == UpdateKind::Max ||
                       how == UpdateKind::Min;
  if (is_arithmetic) return scalar != Scalar::Bool && HasArithmetic(scalar);
  return how == UpdateKind::Set || !IsFloat(scalar);
}

/// Checks an update with the scope `group`: each group of blocks has a partial value of its own, and these
/// values are combined later.
std::string GroupFault(const Op& update) {
  if (update.attr<AttrKey::How>() == UpdateKind::Set)
    return "groups cannot reduce with this kind of update";
  const Value* tensor = update.Segment(UpdateOp::at_tensor)[0];
  if (MemoryOf(tensor) != tensor) return "groups must reduce into a tensor, not a view";
  const Op* spmd = Around(&update, OpKind::Spmd);
  bool grouped = spmd && spmd->attr<AttrKey::Distribute>() == DistributionKind::Grouped;
  return grouped ? "" : "it is not in an spmd that is distributed in groups";
}

std::string UpdateFault(const Op& op, const Module&) {
  const Value* tensor = op.Segment(UpdateOp::at_tensor)[0];
  std::string fault = AccessFault(op, tensor);
  if (fault.empty()) fault = MaskFault(op.Segment(UpdateOp::at_mask));
  if (!fault.empty()) return fault;
  if (op.attr<AttrKey::BoundsMode>() == BoundsMode::Else)
    return "an update cannot have a value for elements outside";
  Type value = op.Segment(UpdateOp::at_value)[0]->type();
  Scalar scalar = tensor->type()->scalar;
  if (!IsTile(value) || value->scalar != scalar)
    return "the value does not have the element type of the tensor";
  auto how = op.attr<AttrKey::How>();
  if (!HasUpdate(how, scalar))
    return fmt::format("this update is not defined on {}", Spelling(scalar));
  fault = ElementwisePlaceFault(op);
  return fault.empty() && op.attr<AttrKey::Scope>() == ScopeKind::Group ? GroupFault(op) : fault;
}

std::string LaunchTensorFault(const Op& op, const Module&) {
  if (op.result()->type()->kind != TypeKind::Tensor) return "the result is not a tensor";
  return op.parent_region()->function()->kind == FunctionKind::Kernel ? ""
                                                                      : "it is not in a kernel";
}

bool IsWritten(const Use& use) {
  OpKind kind = use.user->kind();
  if (kind == OpKind::AsyncCopy) return use.operand == AsyncCopyOp::at_to;
  return kind != OpKind::Load && kind != OpKind::Prefetch && kind != OpKind::AlignGap &&
         kind != OpKind::RowsAdjoin && kind != OpKind::TileCopyFits;
}

std::string TableFault(const Op& op, const Module&) {
  Type type = op.result()->type();
  if (type->kind != TypeKind::Tensor || type->dims.empty()) return "the result is not a tensor";
  ElementBits elements = op.attr<AttrKey::Elements>();
  uint64_t count = 1;
  for (Size dim : type->dims) {
    if (!IsConstant(dim) || dim->value < 1)
      return "a size of the result is not a positive constant";
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim->value), &count)) count = 0;
  }
  if (elements.size() != count) return fmt::format("{} elements, not {}", elements.size(), count);
  for (uint64_t bits : elements) {
    if (!FitInto(type->scalar, bits))
      return fmt::format("the bits of an element do not fit into {}", Spelling(type->scalar));
  }
  bool written = std::ranges::any_of(op.result()->uses(), &IsWritten);
  return written ? "it is used by an op that may write it" : "";
}

std::string ViewFault(const Op& op, const Module&) {
  Type before = op.operand(0)->type();
  Type after = op.result()->type();
  FunctionKind kind = op.parent_region()->function()->kind;
  bool in_kernel = kind == FunctionKind::Kernel;
  if (in_kernel ? op.parent_region()->parent() != nullptr : kind != FunctionKind::Program)
    return "it must not be inside a region of a kernel, or in a fn";
  const Op* def = op.operand(0)->def();
  if (in_kernel && def && def->kind() != OpKind::View)
    return "the operand is neither a parameter nor a view";
  bool fits = before->kind == TypeKind::Tensor && after->kind == TypeKind::Tensor &&
              before->scalar == after->scalar && op.attr<AttrKey::Dimension>() >= 0;
  if (!fits) return "operand and result are not tensors of one scalar type";
  auto [first, from, to] = ViewedDimsOf(&op);
  if (first + from > before->dims.size() || first + to > after->dims.size())
    return fmt::format("there is no dimension {}", first);
  auto differs = [&](size_t count, size_t at_before, size_t at_after) {
    return !std::equal(before->dims.begin() + static_cast<std::ptrdiff_t>(at_before),
                       before->dims.begin() + static_cast<std::ptrdiff_t>(at_before + count),
                       after->dims.begin() + static_cast<std::ptrdiff_t>(at_after));
  };
  if (differs(first, 0, 0) || differs(before->dims.size() - first - from, first + from, first + to))
    return "another dimension changes";
  return "";
}

std::string SyncFault(const Op& op, const Module&) {
  if (op.parent_region()->function()->kind != FunctionKind::Kernel) return "it is not in a kernel";
  for (const Op* around = op.parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    if (around->kind() == OpKind::Spmd || around->kind() == OpKind::Stage)
      return fmt::format("it is not allowed in '{}'", around->info().spelling);
  }
  if (std::string fault = ElementwisePlaceFault(op); !fault.empty()) return fault;
  // Pipes are stored in the workspace of a core, and the core may have another workspace after the sync. So
  // no stage may follow a sync that follows a pipe.
  bool after_pipe = false;
  bool after_sync = false;
  for (const Op* other : *op.parent_region()) {
    if (other == &op && after_pipe) after_sync = true;
    after_pipe = after_pipe || other->kind() == OpKind::Pipe;
    if (after_sync && other->kind() == OpKind::Stage) return "it is not allowed between stages";
  }
  return "";
}

}  // namespace

KDL_TYPE_RULE(BlockStart, BlockFactFault)
KDL_TYPE_RULE(BlockSize, BlockFactFault)
KDL_TYPE_RULE(BlockIndex, BlockFactFault)
KDL_TYPE_RULE(MakeBlock, MakeBlockFault)
KDL_TYPE_RULE(Iota, IotaFault)
KDL_TYPE_RULE(Load, LoadFault)
KDL_TYPE_RULE(Store, StoreFault)
KDL_TYPE_RULE(Update, UpdateFault)
KDL_TYPE_RULE(LaunchTensor, LaunchTensorFault)
KDL_TYPE_RULE(Table, TableFault)
KDL_TYPE_RULE(View, ViewFault)
KDL_TYPE_RULE(Sync, SyncFault)

}  // namespace kdl::ir
