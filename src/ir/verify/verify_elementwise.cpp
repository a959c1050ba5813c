#include <fmt/format.h>

#include <algorithm>

#include "ir/comparisons.h"
#include "ir/eval/bound.h"
#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/verify/verify_rules.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

/// Returns whether the scalar type of an operand may differ from that of the other operands. This is true
/// only for the condition of a select.
bool IsSeparate(OpKind kind, size_t operand) { return kind == OpKind::Select && operand == 0; }

std::string TileShapeFault(const Op& op) {
  for (const Value* operand : op.operands()) {
    if (!IsTile(operand->type())) return "an operand is not a scalar or tile";
  }
  Type result = op.result()->type();
  if (!IsTile(result)) return "the result is not a scalar or tile";
  std::vector<AxisId> axes = OperandAxes(op.operands());
  bool broadcast = op.kind() == OpKind::Broadcast;
  if (broadcast ? !Includes(result->axes, axes) : axes != result->axes) {
    return broadcast ? "the result does not have an axis of the value"
                     : "the result's axes are not the union of the operands'";
  }
  return "";
}

/// Checks an elementwise op on vectors, which must all have the same number of lanes.
std::string LanesFault(const Op& op) {
  Type result = op.result()->type();
  if (!IsVector(result)) return "the result is not a vector";
  bool any = false;
  for (const Value* operand : op.operands()) {
    Type type = operand->type();
    if (!IsScalar(type) && !IsVector(type)) return "an operand is neither scalar nor vector";
    if (IsVector(type) && Lanes(type) != Lanes(result))
      return fmt::format("vectors of {} and {} lanes", Lanes(type), Lanes(result));
    any = any || IsVector(type);
  }
  return any ? "" : "no operand is a vector";
}

bool HasVector(const Op& op) {
  auto is_vector = [](const Value* value) { return IsVector(value->type()); };
  return std::any_of(op.operands().begin(), op.operands().end(), is_vector) ||
         std::any_of(op.results().begin(), op.results().end(), is_vector);
}

}  // namespace

std::string ElementwiseFault(const Op& op, const Module&) {
  bool has_vector = HasVector(op);
  if (has_vector && !op.info().is_in(kLoops)) return "its operands must be tiles, not vectors";
  std::string fault = has_vector ? LanesFault(op) : TileShapeFault(op);
  if (!fault.empty()) return fault;
  Type result = op.result()->type();
  Scalar scalar = op.operands().back()->type()->scalar;
  for (size_t i = 0; i < op.operands().size(); ++i) {
    Scalar other = op.operand(i)->type()->scalar;
    if (IsSeparate(op.kind(), i)) {
      if (other != Scalar::Bool) return "the condition is not a bool";
    } else if (other != scalar) {
      return fmt::format("its operands are of types {} and {}", Spelling(other), Spelling(scalar));
    }
  }
  if (!FindEval(op.kind(), scalar, result->scalar))
    return fmt::format("is not defined on {}", Spelling(scalar));
  bool converts =
      op.kind() == OpKind::Cast || op.kind() == OpKind::ToBits || op.kind() == OpKind::FromBits;
  Scalar expected = IsComparison(op.kind()) ? Scalar::Bool : scalar;
  if (converts || result->scalar == expected) return "";
  return fmt::format("the result is {}, not {}", Spelling(result->scalar), Spelling(expected));
}

namespace {

/// Checks a `bound` op, whose operands must be f64 scalars: a value, the operands of the op that computed
/// this value (in the order of that op), and a bound for each of these operands.
std::string BoundFault(const Op& op, const Module& module) {
  std::optional<OpKind> rule = OpFromSpelling(op.attr<AttrKey::Rule>().text());
  if (!rule || !FindBound(*rule)) return "its rule does not belong to an op";
  Values operands = op.Segment(BoundOp::at_operands);
  bool fits = operands.empty() || operands.size() == Info(*rule).operands.size();
  if (!fits || op.Segment(BoundOp::at_bounds).size() != operands.size())
    return "its operands are not those of its rule";
  Type f64 = module.types().ScalarOf(Scalar::F64);
  auto is_f64 = [&](const Value* value) { return value->type() == f64; };
  bool all = std::all_of(op.operands().begin(), op.operands().end(), is_f64);
  return all && is_f64(op.result()) ? "" : "operand and result must be f64";
}

std::string ConstFault(const Op& op, const Module&) {
  Type type = op.result()->type();
  if (!IsScalar(type)) return "the result is not a scalar";
  bool fits = FitInto(type->scalar, static_cast<uint64_t>(op.attr<AttrKey::Bits>()));
  return fits ? "" : fmt::format("the bits do not fit into {}", Spelling(type->scalar));
}

}  // namespace

KDL_TYPE_RULE(Const, ConstFault)
KDL_TYPE_RULE(Bound, BoundFault)

}  // namespace kdl::ir
