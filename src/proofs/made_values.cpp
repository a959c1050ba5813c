#include "proofs/made_values.h"

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"

namespace kdl::proofs {

std::optional<uint64_t> ConstantBits(const ir::Value* value, const Sizes& known) {
  const ir::Op* op = value->def();
  if (!op) return std::nullopt;
  if (op->kind() == OpKind::Const) return static_cast<uint64_t>(op->attr<AttrKey::Bits>());
  if (op->kind() == OpKind::SizeOf) {
    auto size = EvaluateChecked(op->attr<AttrKey::Size>(), [&](Name name) {
      auto found = known.find(name);
      return found == known.end() ? std::nullopt : std::optional(found->second);
    });
    return size ? std::optional(static_cast<uint64_t>(*size)) : std::nullopt;
  }
  if (!op->info().has(ir::kElementwise) || op->operands().size() > 3) return std::nullopt;
  uint64_t bits[3];
  for (size_t i = 0; i < op->operands().size(); ++i) {
    std::optional<uint64_t> operand = ConstantBits(op->operand(i), known);
    if (!operand) return std::nullopt;
    bits[i] = *operand;
  }
  Scalar operand = op->operands().back()->type()->scalar;
  return ir::Evaluate(op->kind(), operand, op->result()->type()->scalar, bits);
}

std::optional<std::vector<int64_t>> TableValues(const ir::Value* value) {
  auto load = ir::DynAs<ir::LoadOp>(const_cast<ir::Op*>(value->def()));
  Scalar scalar = value->type()->scalar;
  if (!load || load->mask() || load->otherwise() || !IsInteger(scalar) || scalar == Scalar::U64)
    return std::nullopt;
  const ir::Op* table = load->tensor()->def();
  if (!table || table->kind() != ir::OpKind::Table) return std::nullopt;
  std::vector<int64_t> values;
  for (uint64_t bits : table->attr<ir::AttrKey::Elements>())
    values.push_back(static_cast<int64_t>(ir::EvaluateCast(scalar, Scalar::I64, bits)));
  return values;
}

namespace {

/// Returns the op that computes operand `i`, if that op is of the given kind; otherwise null.
const Op* OperandDef(const Op* op, size_t i, OpKind kind) {
  const Op* def = op ? op->operand(i)->def() : nullptr;
  return def && def->kind() == kind ? def : nullptr;
}

bool IsConstant(const Op* op, size_t i, int64_t number) {
  const Op* constant = OperandDef(op, i, OpKind::Const);
  return constant && constant->attr<ir::AttrKey::Bits>() == number;
}

}  // namespace

std::optional<Steps> MatchSteps(const Op* select) {
  const Op* any = OperandDef(select, 0, OpKind::Lt);
  const Op* iterations = OperandDef(OperandDef(select, 1, OpKind::Cast), 0, OpKind::Add);
  const Op* quotient = OperandDef(iterations, 0, OpKind::Div);
  const Op* before_last = OperandDef(quotient, 0, OpKind::Sub);
  const Op* distance = OperandDef(OperandDef(before_last, 0, OpKind::Cast), 0, OpKind::Sub);
  const Op* step = OperandDef(quotient, 1, OpKind::Cast);
  bool counts = any && distance && step && iterations->result()->type()->scalar == Scalar::U64 &&
                IsConstant(iterations, 1, 1) && IsConstant(before_last, 1, 1) &&
                IsConstant(select, 2, 0);
  if (!counts) return std::nullopt;
  Steps steps = {any->operand(0), any->operand(1), step->operand(0)};
  auto is_wide = [](const ir::Value* value) { return value->type()->scalar == Scalar::I64; };
  bool is_theirs = distance->operand(0) == steps.hi && distance->operand(1) == steps.lo &&
                   is_wide(steps.lo) && is_wide(steps.step);
  return is_theirs ? std::optional(steps) : std::nullopt;
}

}  // namespace kdl::proofs
