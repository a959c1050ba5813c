#include "passes/rewriting/rewrite.h"

#include <algorithm>
#include <unordered_set>

#include "ir/eval/eval.h"
#include "ir/format.h"
#include "ir/op_kind.h"
#include "ir/views.h"

namespace kdl::passes {

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

void SortPoint(Op* element, const AxisList& axes) {
  auto old = element->Segment(ir::ElementOp::at_point);
  std::vector<Value*> point;
  for (AxisId axis : element->operand(0)->type()->axes) {
    auto number = std::ranges::find(axes, axis) - axes.begin();
    point.push_back(old[static_cast<size_t>(number)]);
  }
  element->SetSegment(ir::ElementOp::at_point, point);
}

AxisId OtherAxes::Replaced(AxisId axis) const {
  auto found = others_.find(axis);
  return found == others_.end() ? axis : found->second;
}

AxisList OtherAxes::Replaced(AxisList axes) const {
  for (AxisId& axis : axes) axis = Replaced(axis);
  return axes;
}

ir::Type OtherAxes::Replaced(ir::TypeTable& types, ir::Type type) const {
  if (type->axes.empty()) return type;
  if (type->kind == ir::TypeKind::Block) return types.Block(Replaced(type->axes[0]));
  return types.Tile(type->scalar, Replaced(type->axes));
}

void OtherAxes::Retype(ir::TypeTable& types, Op* op) const {
  for (Value* result : op->results()) result->set_type(Replaced(types, result->type()));
  if (op->HasAttr(AttrKey::Axes))
    op->SetAttr(ir::MakeAttr<AttrKey::Axes>(Replaced(op->attr<AttrKey::Axes>())));
  for (const ir::Region* region : op->regions()) {
    for (Value* param : region->params()) param->set_type(Replaced(types, param->type()));
    for (Op* inner : *region) Retype(types, inner);
  }
  if (op->kind() == OpKind::Element) SortReplaced(op);
}

/// Sorts the point of an `element` op whose tile may already have the new axes.
void OtherAxes::SortReplaced(Op* element) const {
  AxisList before = element->operand(0)->type()->axes;
  AxisList now = before;
  for (const auto& [old, other] : others_) std::ranges::replace(before, other, old);
  if (before == now) return;
  std::ranges::sort(before);
  SortPoint(element, Replaced(before));
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

void MoveOps(ir::Region* from, ir::Region* to) {
  for (ir::Op* op : *from) {
    from->Remove(op);
    to->InsertBefore(op, nullptr);
  }
}

void MoveInto(ir::Region* region, ir::Op* op) {
  op->parent_region()->Remove(op);
  region->InsertBefore(op, region->terminator());
}

}  // namespace kdl::passes
