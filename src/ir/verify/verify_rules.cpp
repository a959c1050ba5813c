#include "ir/verify/verify_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/format.h"
#include "ir/op_info.h"
#include "ir/views.h"

namespace kdl::ir {

bool IsI64(const Value* value) {
  return IsScalar(value->type()) && value->type()->scalar == Scalar::I64;
}
bool IsBlock(const Value* value) { return value->type()->kind == TypeKind::Block; }
std::string I64Fault(const Op& op, const Module&) {
  return IsI64(op.result()) ? "" : "the result is not an i64";
}

std::string NoTypes(const Op&, const Module&) { return ""; }

bool FitInto(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits <= 1;
  return Bytes(scalar) == 8 || bits >> (Bytes(scalar) * 8) == 0;
}

bool IsTensor(const Value* value) { return value->type()->kind == TypeKind::Tensor; }

std::vector<AxisId> OperandAxes(Values values, std::vector<AxisId> axes) {
  for (const Value* value : values) axes = UnionAxes(axes, value->type()->axes);
  return axes;
}

bool Includes(const std::vector<AxisId>& all, const std::vector<AxisId>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::vector<AxisId> Without(const std::vector<AxisId>& axes, const AxisList& removed) {
  std::vector<AxisId> kept;
  for (AxisId axis : axes) {
    if (std::find(removed.begin(), removed.end(), axis) == removed.end()) kept.push_back(axis);
  }
  return kept;
}

AxisList Sorted(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::string AllI64(Values values) {
  for (const Value* value : values) {
    if (!IsI64(value)) return "an operand is not an i64";
  }
  return "";
}

std::string SameTypes(Values values, const std::vector<Value*>& expected, std::string_view what) {
  auto same = [](const Value* a, const Value* b) { return a->type() == b->type(); };
  bool equal = std::equal(values.begin(), values.end(), expected.begin(), expected.end(), same);
  return equal ? "" : fmt::format("the types of {} differ", what);
}

Values Yielded(const Region* region) {
  const Op* last = region->terminator();
  return last && last->kind() == OpKind::Yield ? last->Segment(YieldOp::at_values) : Values();
}

/// Checks the mask of a vector op, which must be a vector of bool with the same number of lanes.
std::string LaneMaskFault(Values mask, Type vector) {
  if (mask.empty()) return "";
  Type type = mask[0]->type();
  bool fits = IsVector(type) && type->scalar == Scalar::Bool && Lanes(type) == Lanes(vector);
  return fits ? "" : fmt::format("the mask is not a vector of {} bools", Lanes(vector));
}

std::string MaskFault(Values mask) {
  bool fits = mask.empty() || (IsTile(mask[0]->type()) && mask[0]->type()->scalar == Scalar::Bool);
  return fits ? "" : "the mask is not a bool";
}

/// Checks the operands and the number of dimensions of the access map, but nothing else.
std::string AccessFault(const Op& op, const Value* tensor) {
  if (!IsTensor(tensor)) return "the operand is not a tensor";
  Values index = op.Segment(AccessOperands(op.kind()));
  for (const Value* operand : index) {
    bool fits = IsBlock(operand) || (IsTile(operand->type()) && IsInteger(operand->type()->scalar));
    if (!fits) return "an index is neither a block nor an integer";
  }
  Access access = op.attr<AttrKey::Access>();
  size_t rank = tensor->type()->dims.size();
  if (access.dims.size() != rank)
    return fmt::format("the number of indices is {}, but the number of dimensions is {}",
                       access.dims.size(), rank);
  std::vector<bool> used(index.size());
  for (const AccessDim& dim : access.dims) {
    for (const AccessTerm& term : dim.terms) {
      if (term.operand >= index.size())
        return fmt::format("index operand {} of {}", term.operand, index.size());
      used[term.operand] = true;
    }
  }
  bool all_used = std::find(used.begin(), used.end(), false) == used.end();
  return all_used ? "" : "an index operand is not used in a dimension";
}

std::string ElementwisePlaceFault(const Op& op) {
  for (const Op* around = op.parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    bool is_mapped = around->kind() == OpKind::While && IsTile(around->operand(0)->type()) &&
                     !around->operand(0)->type()->axes.empty();
    if (around->kind() == OpKind::MultiReduce || around->kind() == OpKind::Scan ||
        around->kind() == OpKind::ScanInLoop || is_mapped)
      return fmt::format("it is not allowed in a '{}' over the elements of tiles",
                         around->info().spelling);
  }
  return "";
}

}  // namespace kdl::ir
