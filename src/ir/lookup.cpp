#include "ir/lookup.h"

#include <unordered_set>

#include "ir/eval/eval.h"
#include "ir/format.h"
#include "ir/op_kind.h"
#include "ir/views.h"

namespace kdl::ir {

std::vector<Op*> OpsOfKind(const Function& kernel, OpKind kind) {
  return OpsIn(kernel.body, [&](const Op* op) { return op->kind() == kind; });
}

std::vector<Value*> OutsideOperands(const Op* op) {
  std::vector<Value*> used = op->operands();
  std::unordered_set<const Value*> inside;
  auto look = [&](const auto& self, const Region* region) -> void {
    inside.insert(region->params().begin(), region->params().end());
    for (const Op* inner : *region) {
      for (Value* operand : inner->operands()) {
        if (!inside.contains(operand)) used.push_back(operand);
      }
      for (const Region* nested : inner->regions()) self(self, nested);
      inside.insert(inner->results().begin(), inner->results().end());
    }
  };
  for (const Region* region : op->regions()) look(look, region);
  return used;
}

std::optional<int64_t> ConstantOf(const Value* value) {
  const Op* def = value->def();
  if (!def || def->kind() != OpKind::Const || IsFloat(value->type()->scalar)) {
    return std::nullopt;
  }
  return Extended(value->type()->scalar, static_cast<uint64_t>(def->attr<AttrKey::Bits>()));
}

bool MayTrap(const Op* op) {
  if (op->kind() == OpKind::Assert) return true;
  if (op->kind() == OpKind::While) return AnyBelow(op->region(), MayTrap);
  // The kernel has counted the elements of an `append` before, so that a store of one is only outside after a trap.
  if (op->HasAttr(AttrKey::BoundsMode))
    return op->attr<AttrKey::BoundsMode>() == BoundsMode::Guard && !op->HasAttr(AttrKey::Append);
  bool divides = op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
  return divides && IsInteger(op->result()->type()->scalar) &&
         ConstantOf(op->operand(1)).value_or(0) == 0;
}

const Region* MadeIn(const Value* value) {
  return value->def() ? value->def()->parent_region() : value->parent_region();
}

bool IsInside(const Op* op, const Op* around) {
  while (op && op != around) op = op->parent_region()->parent();
  return op != nullptr;
}

bool IsInside(const Value* value, const Op* around) {
  return IsInside(MadeIn(value)->parent(), around);
}

Value* TensorOf(const Op* access) { return access->Segment(AccessOperands(access->kind()) - 1)[0]; }

std::span<Value* const> IndexOf(const Op* access) {
  return access->Segment(AccessOperands(access->kind()));
}

CopyEnds CopyEndsOf(const Op* copy) {
  AsyncCopyOp view(const_cast<Op*>(copy));
  bool in = view.from()->type()->kind == TypeKind::Tensor;
  return in ? CopyEnds{view.from(), view.to(), true} : CopyEnds{view.to(), view.from(), false};
}

bool ComesAfter(const Op* later, const Op* op) {
  for (const Op* next = op->next(); next; next = next->next()) {
    if (next == later) return true;
  }
  return false;
}

}  // namespace kdl::ir
