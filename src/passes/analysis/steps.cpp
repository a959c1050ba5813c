#include "passes/analysis/steps.h"

namespace kdl::passes {

namespace {

/// The op that makes an operand, if it is of this kind; null: it is not, or there is no op.
const Op* OperandOf(const Op* op, size_t i, OpKind kind) {
  const Op* def = op ? op->operand(i)->def() : nullptr;
  return def && def->kind() == kind ? def : nullptr;
}

bool IsConstant(const Op* op, size_t i, int64_t number) {
  const Op* constant = OperandOf(op, i, OpKind::Const);
  return constant && constant->attr<ir::AttrKey::Bits>() == number;
}

}  // namespace

std::optional<Steps> StepsOf(const Op* select) {
  const Op* any = OperandOf(select, 0, OpKind::Lt);
  const Op* turns = OperandOf(OperandOf(select, 1, OpKind::Cast), 0, OpKind::Add);
  const Op* quotient = OperandOf(turns, 0, OpKind::Div);
  const Op* before_last = OperandOf(quotient, 0, OpKind::Sub);
  const Op* distance = OperandOf(OperandOf(before_last, 0, OpKind::Cast), 0, OpKind::Sub);
  const Op* step = OperandOf(quotient, 1, OpKind::Cast);
  bool counts = any && distance && step && turns->result()->type()->scalar == Scalar::U64 &&
                IsConstant(turns, 1, 1) && IsConstant(before_last, 1, 1) &&
                IsConstant(select, 2, 0);
  if (!counts) return std::nullopt;
  Steps steps = {any->operand(0), any->operand(1), step->operand(0)};
  bool is_theirs = distance->operand(0) == steps.hi && distance->operand(1) == steps.lo;
  return is_theirs ? std::optional(steps) : std::nullopt;
}

}  // namespace kdl::passes
