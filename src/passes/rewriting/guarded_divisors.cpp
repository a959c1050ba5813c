#include "passes/rewriting/guarded_divisors.h"

#include <algorithm>
#include <optional>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// How many ops a search follows one after another.
constexpr int kMostSteps = 12;

bool IsFalse(const Value* value) {
  return value->type()->scalar == Scalar::Bool && ConstantOf(value) == 0;
}

/// Returns whether `mask` is true wherever `condition` is true.
bool Implies(const Value* condition, const Value* mask, int steps = kMostSteps) {
  if (condition == mask) return true;
  const Op* op = condition->def();
  if (!op || steps == 0) return false;
  bool is_and =
      op->kind() == OpKind::And || (op->kind() == OpKind::Select && IsFalse(op->operand(2)));
  if (is_and)
    return Implies(op->operand(0), mask, steps - 1) || Implies(op->operand(1), mask, steps - 1);
  return op->kind() == OpKind::Broadcast && Implies(op->operand(0), mask, steps - 1);
}

bool IsUnseenUnless(const Value* value, const Value* mask, int steps);

/// Returns whether nothing depends on the operand where the mask is false.
bool IsUnseenBy(const ir::Use& use, const Value* mask, int steps) {
  const Op* op = use.user;
  switch (op->kind()) {
    case OpKind::Select:
      if (use.operand == 1 && Implies(op->operand(0), mask)) return true;
      break;
    case OpKind::And:
      if (op->result()->type()->scalar == Scalar::Bool &&
          Implies(op->operand(1 - use.operand), mask))
        return true;
      break;
    case OpKind::Load: {
      auto index = IndexOf(op);
      bool is_index = std::ranges::find(index, op->operand(use.operand)) != index.end();
      bool may_be_anywhere = op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Else;
      return is_index && may_be_anywhere && IsUnseenUnless(op->result(), mask, steps);
    }
    default:
      break;
  }
  bool computes = op->info().is_computed() && !MayTrap(op);
  return computes && IsUnseenUnless(op->result(), mask, steps);
}

bool IsUnseenUnless(const Value* value, const Value* mask, int steps) {
  return steps > 0 && std::ranges::all_of(value->uses(), [&](const ir::Use& use) {
           return IsUnseenBy(use, mask, steps - 1);
         });
}

}  // namespace

Value* WithoutGuard(ir::Module& module, Op* division) {
  const Op* select = division->operand(1)->def();
  bool is_guarded = select && select->kind() == OpKind::Select &&
                    IsInteger(division->operand(1)->type()->scalar) &&
                    ConstantOf(select->operand(2)) == 1;
  if (!is_guarded) return nullptr;
  std::optional<int64_t> divisor = ConstantOf(select->operand(1));
  bool never_traps = divisor && *divisor != 0 && *divisor != -1;
  if (!never_traps || !IsUnseenUnless(division->result(), select->operand(0), kMostSteps))
    return nullptr;
  ir::Builder b(module, division);
  Value* plain = b.Binary(division->kind(), division->operand(0), select->operand(1));
  if (const ir::Attr* text = division->FindAttr(AttrKey::Text)) plain->def()->SetAttr(*text);
  plain->set_name(division->result()->name());
  return b.Broadcast(plain, division->result()->type()->axes);
}

}  // namespace kdl::passes
