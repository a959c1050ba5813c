#include "passes/analysis/index_conditions.h"

#include <algorithm>
#include <bit>

#include "ir/comparisons.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/points.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

bool IsIndices(const Value* tile) {
  const Op* def = tile->def();
  if (!def || def->kind() == OpKind::Iota) return def != nullptr;
  if (def->kind() != OpKind::Elementwise || def->operands().size() != 1) return false;
  return def->region()->terminator()->operand(tile->index()) == def->region()->param(0);
}

namespace {

/// Returns whether the op widens integers to the size of an index, and its results are used only as indices
/// of updates. An update can widen one element at a time at no extra cost.
bool WidensForUpdates(const Op* op) {
  if (op->kind() != OpKind::Cast || PointAxes(op).empty()) return false;
  Scalar from = op->operand(0)->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  return IsInteger(from) && IsInteger(to) && Bytes(from) < Bytes(to) &&
         std::ranges::all_of(
             op->result()->uses(),
             [](const ir::Use& use) {
               return use.user->kind() == OpKind::Update &&
                      ir::UpdateOp(use.user).value() != use.user->operand(use.operand);
             });
}

/// Returns whether the op is arithmetic that loops may repeat at each point: it is cheap and cannot trap.
/// Divisions are cheap if the divisor is a power of two.
bool IsIndexArithmetic(const Op* op) {
  if (PointAxes(op).empty() || op->results().size() != 1 ||
      op->result()->type()->scalar != Scalar::I64)
    return false;
  switch (op->kind()) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Min:
    case OpKind::Max:
      return true;
    case OpKind::Div:
    case OpKind::Rem: {
      std::optional<int64_t> divisor = ir::ConstantOf(op->operand(1));
      return divisor && *divisor > 0 && std::has_single_bit(static_cast<uint64_t>(*divisor));
    }
    default:
      return false;
  }
}

/// Returns whether the value is only compared or used as an index of loads, directly or through index
/// arithmetic and broadcasts.
bool IsOnlyIndex(const Value* value) {
  return std::ranges::all_of(value->uses(), [](const ir::Use& use) {
    if (ir::IsComparison(use.user->kind())) return true;
    if (IsIndexArithmetic(use.user) || use.user->kind() == OpKind::Broadcast)
      return IsOnlyIndex(use.user->result());
    if (use.user->kind() != OpKind::Load) return false;
    auto index = IndexOf(use.user);
    return Contains(index, use.user->operand(use.operand)) &&
           !Contains(use.user->Segment(ir::LoadOp::at_otherwise), use.user->operand(use.operand));
  });
}

}  // namespace

IndexConditions::IndexConditions(const ir::Function& kernel) {
  ir::Walk(kernel.body, [&](Op* op) {
    if (!MayBe(op) || Around(op, OpKind::While)) return;  // a `while` is copied as a whole
    bool in_elementwise_loops = std::ranges::all_of(
        op->result()->uses(), [](const ir::Use& use) { return IsPointwise(use.user); });
    if (in_elementwise_loops) set_.insert(op);
  });
}

bool IndexConditions::MayBe(const Op* op) const {
  if (op->kind() == OpKind::Iota || WidensForUpdates(op)) return true;
  bool compares = ir::IsComparison(op->kind());
  bool joins = op->kind() == OpKind::And || op->kind() == OpKind::Or || op->kind() == OpKind::Not;
  bool is_index = (IsIndexArithmetic(op) || op->kind() == OpKind::Broadcast) &&
                  op->result()->type()->scalar == Scalar::I64 && IsOnlyIndex(op->result());
  if ((!compares && !joins && !is_index) || PointAxes(op).empty()) return false;
  return std::ranges::all_of(op->operands(), [&](const Value* operand) {
    bool is_iota = operand->def() && operand->def()->kind() == OpKind::Iota;
    return ir::IsScalar(operand->type()) || is_iota || set_.contains(operand->def());
  });
}

Op* IndexConditions::OpOf(const Value* value) const {
  return set_.contains(value->def()) ? value->def() : nullptr;
}

}  // namespace kdl::passes
