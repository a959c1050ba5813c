#include "passes/drop_unused.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace kdl::passes {

namespace {

bool DividesSafely(const Op* op) {
  if (op->kind() != OpKind::Div && op->kind() != OpKind::Rem) return false;
  std::optional<int64_t> divisor = ConstantOf(op->operand(1));
  return IsFloat(op->result()->type()->scalar) || (divisor && *divisor != 0);
}

/// Whether something behind the blk in its block is a tile over its axis.
bool GivesScope(const Op* blk) {
  ir::AxisId axis = blk->result()->type()->axes[0];
  auto has_axis = [&](const Value* value) {
    const auto& axes = value->type()->axes;
    return Contains(axes, axis);
  };
  bool found = false;
  auto look = [&](const Op* op) {
    for (const Value* result : op->results()) found = found || has_axis(result);
  };
  for (const Op* op = blk->next(); op && !found; op = op->next()) {
    for (const ir::Block* region : op->regions()) ir::Walk(region, look);
    look(op);
  }
  return found;
}

/// No effect but its results: it cannot trap, write or end anything.
bool HasNoEffect(const Op* op) {
  bool pure = op->info().has(ir::kPure);
  switch (op->kind()) {
    case OpKind::MakeBlk:
      return !GivesScope(op);
    case OpKind::Div:
    case OpKind::Rem:
      return DividesSafely(op);
    case OpKind::Load:
      return op->attr<AttrKey::Edge>() != ir::EdgeKind::Guard;
    case OpKind::BufferNew:
    case OpKind::BufferLoad:
    case OpKind::If:
    case OpKind::For:
    case OpKind::Nest:
      pure = true;
      break;
    case OpKind::Loop:
      pure = ConstantOf(op->operand(2)).value_or(0) > 0;
      break;
    default:
      break;
  }
  for (const ir::Block* region : op->regions()) {
    for (const Op* inner : *region)
      pure = pure && (inner->info().has(ir::kTerminator) || HasNoEffect(inner));
  }
  return pure;
}

bool IsUnused(const Op* op) {
  for (const Value* result : op->results()) {
    if (!result->uses().empty()) return false;
  }
  return true;
}

}  // namespace

bool DropUnused(ir::Block* block) {
  bool dropped = false;
  for (Op* op = block->last(); op;) {
    Op* before = op->prev();
    for (ir::Block* region : op->regions()) dropped = DropUnused(region) || dropped;
    if (!op->info().has(ir::kTerminator) && IsUnused(op) && HasNoEffect(op)) {
      ir::Erase(op);
      dropped = true;
    }
    op = before;
  }
  return dropped;
}

}  // namespace kdl::passes
