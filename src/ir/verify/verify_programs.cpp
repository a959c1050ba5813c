#include <fmt/format.h>

#include <algorithm>

#include "ir/verify/verify_rules.h"
#include "ir/views.h"
#include "support/rank_limit.h"

namespace kdl::ir {

namespace {

std::string Events(Values values) {
  for (const Value* value : values) {
    if (value->type()->kind != TypeKind::Event) return "waits for a value that is not an event";
  }
  return "";
}

/// Returns whether the device of the op has ranks and this axis.
bool HasAxis(const Op& op, const Module& module, int64_t axis) {
  auto device = std::ranges::find(module.devices, op.attr<AttrKey::Device>(), &Device::name);
  if (device == module.devices.end() || !device->has_ranks) return false;
  return axis == kAllRanks ||
         (axis >= 0 && axis < std::max<int64_t>(1, std::ssize(device->rank_shape)));
}

/// Checks the lengths of the blocks in which dimensions are distributed along these axes.
std::string BlocksFault(const Op& op, const NumberList& axes) {
  if (!op.HasAttr(AttrKey::RankBlocks)) return "";
  NumberList blocks = op.attr<AttrKey::RankBlocks>();
  if (blocks.size() != axes.size())
    return "`rank_blocks` does not have a number for each dimension";
  for (size_t d = 0; d < axes.size(); ++d) {
    if (blocks[d] < 0 || blocks[d] > kMostRankBlock)
      return fmt::format("blocks cannot have the length {}", blocks[d]);
    if (blocks[d] > 0 && axes[d] < 0)
      return fmt::format("dimension {} has blocks, but is not distributed along an axis", d);
  }
  return "";
}

std::string AllocFault(const Op& op, const Module& module) {
  if (!IsTensor(op.result())) return "the result is not a tensor";
  if (!op.HasAttr(AttrKey::RankAxes))
    return op.HasAttr(AttrKey::RankBlocks) ? "`rank_blocks` needs `rank_axes`" : "";
  NumberList axes = op.attr<AttrKey::RankAxes>();
  if (axes.size() != op.result()->type()->dims.size())
    return "`rank_axes` does not have a number for each dimension";
  for (int64_t axis : axes) {
    if (axis == -1) continue;
    if (!HasAxis(op, module, axis))
      return fmt::format("the device has no ranks along axis {}", axis);
    if (std::ranges::count(axes, axis) > 1)
      return fmt::format("two dimensions are distributed along axis {}", axis);
  }
  return BlocksFault(op, axes);
}

std::string FreeFault(const Op& op, const Module&) {
  return IsTensor(op.operand(0)) ? Events(op.Segment(FreeOp::at_after))
                                 : "the operand is not a tensor";
}

std::string TransferFault(const Op& op, const Module&) {
  bool fits = IsTensor(op.operand(0)) && op.result(0)->type() == op.operand(0)->type() &&
              op.result(1)->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(TransferOp::at_after))
              : "the results are not a tensor of the operand's type and an event";
}

std::string RelocateFault(const Op& op, const Module&) {
  bool fits = IsTensor(op.operand(0)) && op.result()->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(RelocateOp::at_after))
              : "it requires a tensor operand and an event result";
}

std::string CopyBackFault(const Op& op, const Module&) {
  bool fits = IsTensor(op.operand(0)) && op.operand(0)->type() == op.operand(1)->type() &&
              op.result()->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(CopyBackOp::at_after))
              : "it requires two tensors of one type and an event result";
}

std::string LivesFault(const Op& op, const Module&) {
  return IsTensor(op.operand(0)) ? "" : "the operand is not a tensor";
}

std::string ApartFault(const Op& op, const Module&) {
  return IsTensor(op.operand(0)) && IsTensor(op.operand(1)) ? "" : "an operand is not a tensor";
}

std::string CopyFault(const Op& op, const Module&) {
  const Value* from = op.operand(0);
  const Value* to = op.operand(1);
  bool fits = IsTensor(from) && IsTensor(to) && from->type()->scalar == to->type()->scalar &&
              from->type()->dims.size() == to->type()->dims.size() &&
              op.result()->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(CopyOp::at_after))
              : "it requires two tensors with the same element type and number of dimensions";
}

std::string FillFault(const Op& op, const Module&) {
  const Value* tensor = op.operand(0);
  const Value* value = op.operand(1);
  bool fits = IsTensor(tensor) && IsScalar(value->type()) &&
              value->type()->scalar == tensor->type()->scalar &&
              op.result()->type()->kind == TypeKind::Event;
  return fits ? Events(op.Segment(FillOp::at_after))
              : "it requires a tensor and a value of its element type";
}

/// Checks that a slice keeps all dimensions except one, whose size changes or which is removed.
std::string SliceFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0)) || !IsTensor(op.result()))
    return "an operand or the result is not a tensor";
  if (std::string fault = AllI64(Values(op.operands()).subspan(1)); !fault.empty()) return fault;
  std::vector<Size> wanted = op.operand(0)->type()->dims;
  const std::vector<Size>& dims = op.result()->type()->dims;
  auto dimension = op.attr<AttrKey::Dimension>();
  if (dimension < 0 || static_cast<size_t>(dimension) >= wanted.size())
    return fmt::format("there is no dimension {}", dimension);
  auto at = static_cast<size_t>(dimension);
  bool stays = !op.Segment(SliceOp::at_hi).empty();
  if (stays && at < dims.size()) wanted[at] = dims[at];
  if (!stays && at + 1 == wanted.size()) return "it drops the last dimension";
  if (!stays) wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(at));
  bool fits = wanted == dims && op.result()->type()->scalar == op.operand(0)->type()->scalar;
  return fits ? "" : "another dimension changes";
}

std::string SwapFault(const Op& op, const Module&) {
  const Op* a = op.operand(0)->def();
  const Op* b = op.operand(1)->def();
  bool allocated = a && b && a->kind() == OpKind::Alloc && b->kind() == OpKind::Alloc;
  if (!allocated) return "it exchanges tensors that were not allocated by `alloc`";
  Name on_a = a->attr<AttrKey::Device>();
  Name on_b = b->attr<AttrKey::Device>();
  // A tensor without a device name is on the module's only device.
  bool one_place = on_a == on_b || on_a.empty() || on_b.empty();
  bool alike = op.operand(0)->type() == op.operand(1)->type() && one_place;
  return alike ? "" : "the tensors differ in type or device";
}

std::string BindSizeFault(const Op& op, const Module&) {
  return IsI64(op.result()) ? AllI64(op.operands()) : "the result is not an i64";
}

/// Checks an access by a program to one element. There must be an index for each dimension, and the element
/// must have the same scalar type as the tensor.
std::string HostAccessFault(const Value* tensor, const Value* element, Values index, Values after) {
  if (!IsTensor(tensor)) return "a tensor is missing";
  if (index.size() != tensor->type()->dims.size())
    return fmt::format("the number of indices is {}, but the number of dimensions is {}",
                       index.size(), tensor->type()->dims.size());
  if (std::string fault = AllI64(index); !fault.empty()) return fault;
  if (!IsScalar(element->type()) || element->type()->scalar != tensor->type()->scalar)
    return "the element does not have the element type of the tensor";
  return Events(after);
}

std::string HostLoadFault(const Op& op, const Module&) {
  return HostAccessFault(op.operand(0), op.result(), op.Segment(HostLoadOp::at_index),
                         op.Segment(HostLoadOp::at_after));
}

std::string HostStoreFault(const Op& op, const Module&) {
  return HostAccessFault(op.operand(1), op.operand(0), op.Segment(HostStoreOp::at_index),
                         op.Segment(HostStoreOp::at_after));
}

std::string DrawFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0))) return "a tensor is missing";
  if (std::string fault = AllI64(op.Segment(DrawOp::at_seed)); !fault.empty()) return fault;
  return Events(op.Segment(DrawOp::at_after));
}

std::string ExpectFault(const Op& op, const Module&) {
  for (const Value* argument : op.Segment(ExpectOp::at_arguments)) {
    if (!IsTensor(argument) && !IsScalar(argument->type()))
      return "its arguments must be tensors or scalars";
  }
  return Events(op.Segment(ExpectOp::at_after));
}

std::string RequireFault(const Op& op, const Module&) {
  bool in_program = op.parent_region()->function()->kind == FunctionKind::Program;
  return op.parent_region()->parent() && !in_program ? "it must not be inside a region" : "";
}

std::string MarkFault(const Op& op, const Module&) {
  return op.result()->type()->kind == TypeKind::Event ? "" : "the result is not an event";
}

std::string LaunchFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* kernel = module.FindFunction(callee);
  if (!kernel || kernel->kind != FunctionKind::Kernel)
    return fmt::format("'{}' is not a kernel of the module", callee.text());
  Values arguments = op.Segment(LaunchOp::at_arguments);
  std::vector<Type> wanted;  // without workspaces, which the launch itself provides
  for (const Param& param : kernel->params) {
    if (param.value->type()->kind != TypeKind::Workspace) wanted.push_back(param.value->type());
  }
  if (arguments.size() != wanted.size()) {
    return fmt::format("{} arguments are given; '{}' has {}", arguments.size(), callee.text(),
                       wanted.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    Type given = arguments[i]->type();
    bool fits = given->kind == wanted[i]->kind && given->scalar == wanted[i]->scalar &&
                given->dims.size() == wanted[i]->dims.size() && given->axes.empty();
    if (!fits) return fmt::format("argument {} does not have the type of the parameter", i + 1);
  }
  if (std::string fault = AllI64(op.Segment(LaunchOp::at_cores)); !fault.empty())
    return "the number of cores is not an i64";
  for (const Value* workspace : op.Segment(LaunchOp::at_workspace)) {
    if (workspace->type()->kind != TypeKind::Workspace)
      return "the workspace is not a workspace value";
  }
  if (op.result()->type()->kind != TypeKind::Event) return "the result is not an event";
  return Events(op.Segment(LaunchOp::at_after));
}

std::string RanksFault(const Op& op, const Module&) {
  bool fits = std::ranges::all_of(op.results(), [](const Value* value) { return IsI64(value); });
  return fits ? AllI64(op.operands()) : "a result is not an i64";
}

std::string RankMemoryFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0)) || op.result()->type() != op.operand(0)->type())
    return "the operand and the result are not tensors of one type";
  return AllI64(op.Segment(RankMemoryOp::at_rank));
}

std::string OwnedFault(const Op& op, const Module& module) {
  auto axis = op.attr<AttrKey::RankAxis>();
  if (!HasAxis(op, module, axis)) return fmt::format("the device has no ranks along axis {}", axis);
  return RanksFault(op, module);
}

std::string OwnedBlocksFault(const Op& op, const Module& module) {
  auto length = op.attr<AttrKey::RankBlock>();
  if (length < 1 || length > kMostRankBlock)
    return fmt::format("blocks cannot have the length {}", length);
  return OwnedFault(op, module);
}

std::string FetchFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0))) return "a tensor is missing";
  Values lo = op.Segment(FetchOp::at_lo);
  Values hi = op.Segment(FetchOp::at_hi);
  size_t rank = op.operand(0)->type()->dims.size();
  if (lo.size() != rank || hi.size() != rank)
    return fmt::format("it needs bounds for each of the {} dimensions", rank);
  for (Values values : {op.Segment(FetchOp::at_rank), lo, hi}) {
    if (std::string fault = AllI64(values); !fault.empty()) return fault;
  }
  return Events(op.Segment(FetchOp::at_after));
}

std::string FinishFetchesFault(const Op&, const Module&) { return ""; }

std::string RewrittenFault(const Op& op, const Module&) {
  if (!IsTensor(op.operand(0))) return "a tensor is missing";
  return Events(op.Segment(RewrittenOp::at_after));
}

/// Checks the numbers and the tensors of a checkpoint.
std::string SavedFault(Values numbers, Values tensors, Values after) {
  for (const Value* number : numbers)
    if (!IsScalar(number->type())) return "a number is not a scalar";
  for (const Value* tensor : tensors)
    if (!IsTensor(tensor)) return "a tensor is missing";
  return Events(after);
}

std::string RestoreFault(const Op& op, const Module&) {
  Values numbers = op.Segment(RestoreOp::at_numbers);
  bool fits = std::ranges::equal(numbers, op.results(), {}, &Value::type, &Value::type);
  if (!fits) return "the results do not have the types of the numbers";
  return SavedFault(numbers, op.Segment(RestoreOp::at_tensors), op.Segment(RestoreOp::at_after));
}

std::string CheckpointFault(const Op& op, const Module&) {
  if (std::string fault = AllI64(op.Segment(CheckpointOp::at_every)); !fault.empty()) return fault;
  return SavedFault(op.Segment(CheckpointOp::at_numbers), op.Segment(CheckpointOp::at_tensors),
                    op.Segment(CheckpointOp::at_after));
}

std::string WorkspaceFault(const Op& op, const Module&) {
  return op.result()->type()->kind == TypeKind::Workspace ? "" : "the result is not a workspace";
}

std::string FootprintFault(const Op& op, const Module& module) {
  Name callee = op.attr<AttrKey::Callee>();
  const Function* kernel = module.FindFunction(callee);
  if (!kernel || kernel->kind != FunctionKind::Kernel)
    return fmt::format("'{}' is not a kernel of the module", callee.text());
  return I64Fault(op, module);
}

std::string InstancesFault(const Op& op, const Module& module) {
  if (!AllI64(op.Segment(InstancesOp::at_cores)).empty())
    return "the number of cores is not an i64";
  return I64Fault(op, module);
}

std::string ReserveFault(const Op& op, const Module&) {
  if (op.operand(0)->type()->kind != TypeKind::Workspace) return "the operand is not a workspace";
  return AllI64(Values(op.operands()).subspan(1));
}

}  // namespace

KDL_TYPE_RULE(Alloc, AllocFault)
KDL_TYPE_RULE(Free, FreeFault)
KDL_TYPE_RULE(Lives, LivesFault)
KDL_TYPE_RULE(Apart, ApartFault)
KDL_TYPE_RULE(Transfer, TransferFault)
KDL_TYPE_RULE(Relocate, RelocateFault)
KDL_TYPE_RULE(CopyBack, CopyBackFault)
KDL_TYPE_RULE(Copy, CopyFault)
KDL_TYPE_RULE(Fill, FillFault)
KDL_TYPE_RULE(Slice, SliceFault)
KDL_TYPE_RULE(Swap, SwapFault)
KDL_TYPE_RULE(BindSize, BindSizeFault)
KDL_TYPE_RULE(HostLoad, HostLoadFault)
KDL_TYPE_RULE(HostStore, HostStoreFault)
KDL_TYPE_RULE(Draw, DrawFault)
KDL_TYPE_RULE(Expect, ExpectFault)
KDL_TYPE_RULE(DeviceCores, I64Fault)
KDL_TYPE_RULE(Require, RequireFault)
KDL_TYPE_RULE(Mark, MarkFault)
KDL_TYPE_RULE(Launch, LaunchFault)
KDL_TYPE_RULE(Ranks, RanksFault)
KDL_TYPE_RULE(Owned, OwnedFault)
KDL_TYPE_RULE(OwnedBlocks, OwnedBlocksFault)
KDL_TYPE_RULE(OwnedBlock, OwnedBlocksFault)
KDL_TYPE_RULE(RankMemory, RankMemoryFault)
KDL_TYPE_RULE(Fetch, FetchFault)
KDL_TYPE_RULE(FinishFetches, FinishFetchesFault)
KDL_TYPE_RULE(Rewritten, RewrittenFault)
KDL_TYPE_RULE(Restore, RestoreFault)
KDL_TYPE_RULE(Checkpoint, CheckpointFault)
KDL_TYPE_RULE(Workspace, WorkspaceFault)
KDL_TYPE_RULE(Footprint, FootprintFault)
KDL_TYPE_RULE(Instances, InstancesFault)
KDL_TYPE_RULE(Reserve, ReserveFault)

}  // namespace kdl::ir
