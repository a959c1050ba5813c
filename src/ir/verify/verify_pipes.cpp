#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "ir/verify/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

bool IsPipe(const Value* value) { return value->type()->kind == TypeKind::Pipe; }

/// Checks that a stage is directly in the body of a kernel.
std::string StageFault(const Op& op, const Module&) {
  if (op.parent_region()->parent()) return "must not be inside a region";
  if (op.parent_region()->function()->kind != FunctionKind::Kernel)
    return "is not allowed outside a kernel";
  if (!op.region()->params().empty()) return "the region has parameters";
  return Yielded(op.region()).empty() ? "" : "the region yields values";
}

bool InStage(const Op& op) {
  if (op.parent_region()->function()->kind == FunctionKind::Fn) return true;
  for (const Op* outer = op.parent_region()->parent(); outer;
       outer = outer->parent_region()->parent()) {
    if (outer->kind() == OpKind::Stage) return true;
  }
  return false;
}

std::string PipeFault(const Op& op, const Module&) {
  if (!IsPipe(op.result())) return "the result is not a pipe";
  if (op.parent_region()->parent()) return "must not be inside a region";
  if (op.attr<AttrKey::Depth>() < 1) return "has a depth below 1";
  for (const Value* workspace : op.Segment(PipeOp::at_workspace)) {
    if (workspace->type()->kind != TypeKind::Workspace)
      return "the workspace is not a workspace value";
    if (!op.HasAttr(AttrKey::Slot)) return "has a workspace, but no ring";
  }
  size_t ring = 0;
  for (AttrKey key : {AttrKey::From, AttrKey::To, AttrKey::Header, AttrKey::Slot, AttrKey::Offset})
    ring += op.HasAttr(key) ? 1 : 0;
  return ring == 0 || ring == 5 ? "" : "only some of the attributes of a ring are given";
}

/// Returns whether two extents differ for some values of their symbols. This function tries only two choices
/// of values, so it may miss a difference, but extents that are always equal never differ.
bool MayDiffer(Size a, Size b) {
  if (a == b) return false;
  for (size_t least : {1, 64}) {
    auto value = [&](Name name) {
      return std::optional(
          static_cast<int64_t>(least + std::hash<std::string_view>()(name.text()) % 1021));
    };
    std::optional<int64_t> of_a = EvaluateChecked(a, value);
    std::optional<int64_t> of_b = EvaluateChecked(b, value);
    if (of_a && of_b && *of_a != *of_b) return true;
  }
  return false;
}

/// Checks the axes of a tile in a pipe: for each dimension of the pipe, the tile must have an axis with the
/// same extent.
std::string PositionsFault(const Op& op, const Value* pipe) {
  if (!IsPipe(pipe)) return "the operand is not a pipe";
  if (!InStage(op)) return "is not allowed outside stages";
  AxisList axes = op.attr<AttrKey::Axes>();
  const std::vector<Size>& extents = pipe->type()->dims;
  if (axes.size() != extents.size())
    return fmt::format("{} axes for {} positions", axes.size(), extents.size());
  AxisList sorted = Sorted(axes);
  bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (twice) return "an axis is used for two positions";
  const Function& function = *op.parent_region()->function();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].value >= function.axes.size()) return "an axis is not an axis of the function";
    Size extent = function.axis(axes[i]).extent;
    if (extent && MayDiffer(extent, extents[i])) {
      return fmt::format("axis '{}' has blocks of {}, but the pipe has {}",
                         function.axis(axes[i]).name.text(), ToString(extent),
                         ToString(extents[i]));
    }
  }
  return "";
}

std::string PushFault(const Op& op, const Module&) {
  const Value* pipe = op.operand(1);
  if (std::string fault = PositionsFault(op, pipe); !fault.empty()) return fault;
  Type value = op.operand(0)->type();
  if (!IsTile(value) || value->scalar != pipe->type()->scalar)
    return "the value does not have the element type of the pipe";
  return Includes(Sorted(op.attr<AttrKey::Axes>()), value->axes)
             ? ""
             : "the value has an axis without a position";
}

std::string PopFault(const Op& op, const Module&) {
  const Value* pipe = op.operand(0);
  if (std::string fault = PositionsFault(op, pipe); !fault.empty()) return fault;
  Type result = op.result()->type();
  bool fits = IsTile(result) && result->scalar == pipe->type()->scalar &&
              result->axes == Sorted(op.attr<AttrKey::Axes>());
  return fits ? "" : "the result is not a tile of the pipe's type over the axes";
}

/// Checks the tensor that represents an acquired slot.
std::string SlotFault(const Op& op, const Value* slot, const Value* pipe) {
  if (!IsPipe(pipe)) return "the operand is not a pipe";
  if (!InStage(op)) return "is not allowed outside stages";
  Type type = slot->type();
  bool fits = type->kind == TypeKind::Tensor && type->scalar == pipe->type()->scalar &&
              type->dims == pipe->type()->dims;
  return fits ? "" : "the slot is not a tensor of the pipe's element and extents";
}

std::string AcquireFault(const Op& op, const Module&) {
  return SlotFault(op, op.result(), op.operand(0));
}

std::string SizesFault(Values sizes, const Value* pipe) {
  bool fits = sizes.size() == pipe->type()->dims.size() && AllI64(sizes).empty();
  return fits ? "" : "it requires one i64 size for each position";
}

std::string CommitFault(const Op& op, const Module&) {
  std::string fault = SlotFault(op, op.operand(0), op.operand(1));
  return fault.empty() ? SizesFault(op.Segment(CommitOp::at_sizes), op.operand(1)) : fault;
}

std::string WaitFault(const Op& op, const Module&) {
  if (op.results().empty()) return "a slot is missing";
  std::string fault = SlotFault(op, op.result(), op.operand(0));
  return fault.empty() ? SizesFault(Values(op.results()).subspan(1), op.operand(0)) : fault;
}

std::string ReleaseFault(const Op& op, const Module&) {
  return SlotFault(op, op.operand(0), op.operand(1));
}

std::string MatchFault(const Op& op, const Module&) { return AllI64(op.operands()); }

}  // namespace

KDL_TYPE_RULE(Stage, StageFault)
KDL_TYPE_RULE(Pipe, PipeFault)
KDL_TYPE_RULE(Push, PushFault)
KDL_TYPE_RULE(Pop, PopFault)
KDL_TYPE_RULE(Acquire, AcquireFault)
KDL_TYPE_RULE(Commit, CommitFault)
KDL_TYPE_RULE(Wait, WaitFault)
KDL_TYPE_RULE(Match, MatchFault)
KDL_TYPE_RULE(Release, ReleaseFault)

}  // namespace kdl::ir
