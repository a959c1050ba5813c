#include "passes/rewrite.h"

#include <unordered_set>

#include "ir/eval.h"
#include "ir/format.h"

namespace kdl::passes {

std::vector<ir::Op*> OpsOfKind(const ir::Function& kernel, ir::OpKind kind) {
  return OpsIn(kernel.body, [&](const ir::Op* op) { return op->kind() == kind; });
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

std::vector<ir::Type> TypesOf(std::span<Value* const> values) {
  std::vector<ir::Type> types;
  for (const Value* value : values) types.push_back(value->type());
  return types;
}

Value* MakeOne(ir::Builder& b, OpKind kind, const ir::Builder::Segments& operands, ir::Type result,
               std::vector<ir::Attr> attrs) {
  return b.Create(kind, operands, {result}, std::move(attrs))->result();
}

void StandFor(const Op* op, const Op* copy, ir::ValueMap& map) {
  for (size_t i = 0; i < op->results().size(); ++i) {
    copy->result(i)->set_name(op->result(i)->name());
    map[op->result(i)] = copy->result(i);
  }
}

Value* Mapped(const ir::ValueMap& map, Value* value) {
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
  std::vector<ir::AxisId> axes;
  auto segments = SegmentsOf(op, [&](ir::Value* value) {
    ir::Value* mapped = Mapped(map, value);
    axes = ir::UnionAxes(axes, mapped->type()->axes);
    return mapped;
  });
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
  if (op->kind() == ir::OpKind::While) return AnyBelow(op->region(), MayTrap);
  if (op->HasAttr(ir::AttrKey::Edge)) return op->attr<ir::AttrKey::Edge>() == ir::EdgeKind::Guard;
  bool divides = op->kind() == ir::OpKind::Div || op->kind() == ir::OpKind::Rem;
  return divides && IsInteger(op->result()->type()->scalar) &&
         ConstantOf(op->operand(1)).value_or(0) == 0;
}

const ir::Block* MadeIn(const ir::Value* value) {
  return value->def() ? value->def()->block() : value->block();
}

bool IsInside(const ir::Op* op, const ir::Op* around) {
  while (op && op != around) op = op->block()->parent();
  return op != nullptr;
}

bool IsInside(const ir::Value* value, const ir::Op* around) {
  return IsInside(MadeIn(value)->parent(), around);
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
