#include "passes/rewriting/drop_unused.h"

#include <algorithm>

#include "ir/op_info.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// Returns whether an op after `block` in its region makes a tile over the block's axis, which `block` brings
/// into scope.
bool GivesScope(const Op* block) {
  ir::AxisId axis = block->result()->type()->axes[0];
  auto is_over = [&](const Op* op) {
    return std::ranges::any_of(op->results(), [&](const Value* result) {
      const auto& axes = result->type()->axes;
      return Contains(axes, axis);
    });
  };
  for (const Op* op = block->next(); op; op = op->next()) {
    if (AnyIn(op, is_over)) return true;
  }
  return false;
}

/// Returns whether the op has no effect except its results: it cannot trap, write or run forever.
bool HasNoEffect(const Op* op) {
  bool pure = op->info().has(ir::kPure);
  switch (op->kind()) {
    case OpKind::MakeBlock:
      return !GivesScope(op);
    case OpKind::Div:
    case OpKind::Rem:
    case OpKind::Load:
      return !MayTrap(op);
    case OpKind::BufferNew:
    case OpKind::BufferLoad:
    case OpKind::If:
    case OpKind::For:
    case OpKind::Elementwise:
      pure = true;
      break;
    case OpKind::Loop:
      pure = ConstantOf(op->operand(2)).value_or(0) > 0;
      break;
    default:
      break;
  }
  for (const ir::Region* region : op->regions()) {
    for (const Op* inner : *region)
      pure = pure && (inner->info().has(ir::kTerminator) || HasNoEffect(inner));
  }
  return pure;
}

bool IsUnused(const Op* op) {
  return std::ranges::all_of(op->results(), [](const Value* v) { return v->uses().empty(); });
}

}  // namespace

bool DropUnused(ir::Region* region) {
  bool dropped = false;
  for (Op* op = region->last(); op;) {
    Op* before = op->prev();
    for (ir::Region* nested : op->regions()) dropped = DropUnused(nested) || dropped;
    if (!op->info().has(ir::kTerminator) && IsUnused(op) && HasNoEffect(op)) {
      ir::Erase(op);
      dropped = true;
    }
    op = before;
  }
  return dropped;
}

}  // namespace kdl::passes
