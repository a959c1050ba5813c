#include "passes/rewrite.h"

#include <unordered_set>

#include "ir/eval.h"
#include "ir/format.h"

namespace kdl::passes {

std::vector<ir::Op*> OpsOfKind(const ir::Function& kernel, ir::OpKind kind) {
  std::vector<ir::Op*> ops;
  ir::Walk(kernel.body, [&](ir::Op* op) {
    if (op->kind() == kind) ops.push_back(op);
  });
  return ops;
}

std::vector<ir::Value*> OutsideOperands(const ir::Op* op) {
  std::vector<ir::Value*> used = op->operands();
  std::unordered_set<const ir::Value*> inside;
  auto look = [&](const auto& self, const ir::Block* region) -> void {
    inside.insert(region->params().begin(), region->params().end());
    for (const ir::Op* inner : *region) {
      for (ir::Value* operand : inner->operands()) {
        if (!inside.contains(operand)) used.push_back(operand);
      }
      for (const ir::Block* nested : inner->regions()) self(self, nested);
      inside.insert(inner->results().begin(), inner->results().end());
    }
  };
  for (const ir::Block* region : op->regions()) look(look, region);
  return used;
}

ir::Value* Mapped(const ir::ValueMap& map, ir::Value* value) {
  auto found = map.find(value);
  return found == map.end() ? value : found->second;
}

AxisId OtherAxes::Of(AxisId axis) const {
  auto found = others_.find(axis);
  return found == others_.end() ? axis : found->second;
}

AxisList OtherAxes::Of(AxisList axes) const {
  for (AxisId& axis : axes) axis = Of(axis);
  return axes;
}

ir::Type OtherAxes::Of(ir::TypeTable& types, ir::Type type) const {
  if (type->axes.empty()) return type;
  if (type->kind == ir::TypeKind::Blk) return types.Blk(Of(type->axes[0]));
  return types.Tile(type->scalar, Of(type->axes));
}

void OtherAxes::Retype(ir::TypeTable& types, Op* op) const {
  for (Value* result : op->results()) result->set_type(Of(types, result->type()));
  if (op->HasAttr(AttrKey::Axes))
    op->SetAttr(ir::MakeAttr<AttrKey::Axes>(Of(op->attr<AttrKey::Axes>())));
  for (const ir::Block* region : op->regions()) {
    for (Value* param : region->params()) param->set_type(Of(types, param->type()));
    for (Op* inner : *region) Retype(types, inner);
  }
}

ir::Op* CloneRetyped(const ir::Op* op, ir::Builder& builder, const ir::ValueMap& map) {
  ir::Builder::Segments segments;
  std::vector<ir::AxisId> axes;
  for (size_t s = 0; s < op->info().operands.size(); ++s) {
    segments.emplace_back();
    for (ir::Value* value : op->Segment(s)) {
      segments.back().push_back(Mapped(map, value));
      axes = ir::UnionAxes(axes, segments.back().back()->type()->axes);
    }
  }
  std::vector<ir::Type> types;
  for (const ir::Value* result : op->results()) {
    types.push_back(builder.types().Tile(result->type()->scalar, axes));
  }
  ir::Loc outer = builder.loc();
  builder.set_loc(op->loc());
  ir::Op* copy = builder.Create(op->kind(), segments, std::move(types), op->attrs());
  builder.set_loc(outer);
  for (size_t i = 0; i < op->results().size(); ++i) {
    copy->result(i)->set_name(op->result(i)->name());
  }
  return copy;
}

ir::Op* CopyTable(const ir::Op* table, ir::Function& into, ir::Module& module) {
  ir::Op* first = into.body->first();
  while (first->kind() == ir::OpKind::Require) first = first->next();
  ir::Builder builder(module);
  builder.SetInsertionPoint(first);
  builder.set_loc(table->loc());
  ir::Op* copy = builder.Create(ir::OpKind::Table, {}, {table->result()->type()}, table->attrs());
  copy->result()->set_name(table->result()->name());
  return copy;
}

void MoveOps(ir::Block* from, ir::Block* to) {
  for (ir::Op* op : *from) {
    from->Remove(op);
    to->InsertBefore(op, nullptr);
  }
}

void MoveInto(ir::Block* block, ir::Op* op) {
  op->block()->Remove(op);
  block->InsertBefore(op, block->terminator());
}

std::optional<int64_t> ConstantOf(const ir::Value* value) {
  const ir::Op* def = value->def();
  if (!def || def->kind() != ir::OpKind::Const || IsFloat(value->type()->scalar)) {
    return std::nullopt;
  }
  return ir::Extended(value->type()->scalar, static_cast<uint64_t>(def->attr<ir::AttrKey::Bits>()));
}

bool MayTrap(const ir::Op* op) {
  if (op->kind() == ir::OpKind::Assert) return true;
  if (op->kind() == ir::OpKind::While) {
    bool traps = false;
    ir::Walk(op->region(), [&](const ir::Op* inner) { traps = traps || MayTrap(inner); });
    return traps;
  }
  if (op->HasAttr(ir::AttrKey::Edge)) return op->attr<ir::AttrKey::Edge>() == ir::EdgeKind::Guard;
  bool divides = op->kind() == ir::OpKind::Div || op->kind() == ir::OpKind::Rem;
  return divides && IsInteger(op->result()->type()->scalar) &&
         ConstantOf(op->operand(1)).value_or(0) == 0;
}

const ir::Op* AncestorIn(const ir::Block* block, const ir::Op* op) {
  while (op && op->block() != block) op = op->block()->parent();
  return op;
}

bool IsInside(const ir::Op* op, const ir::Op* around) {
  while (op && op != around) op = op->block()->parent();
  return op != nullptr;
}

ir::Value* TensorOf(const ir::Op* access) {
  return access->Segment(ir::AccessOperands(access->kind()) - 1)[0];
}

std::span<ir::Value* const> IndexOf(const ir::Op* access) {
  return access->Segment(ir::AccessOperands(access->kind()));
}

bool ComesAfter(const ir::Op* later, const ir::Op* op) {
  for (const ir::Op* next = op->next(); next; next = next->next()) {
    if (next == later) return true;
  }
  return false;
}

}  // namespace kdl::passes
