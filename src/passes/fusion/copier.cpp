#include "passes/fusion/copier.h"

#include <algorithm>

#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

AxisId Copier::AxisFor(AxisId from) {
  if (!from.valid()) return from;
  auto known = axes_.find(from);
  if (known != axes_.end()) return known->second;
  ir::Axis axis = from_->axis(from);
  axis.parent = AxisFor(axis.parent);
  axis.extent = Sized(axis.extent);
  axis.domain = Sized(axis.domain);
  return axes_[from] = to_->AddAxis(axis);
}

Size Copier::Sized(Size size) const {
  return size ? module_->types().sizes().Substitute(size, size_) : size;
}

Value* Copier::ValueFor(Value* value) const { return Mapped(values, value); }

ir::Type Copier::TypeFor(ir::Type type) {
  ir::TypeTable& types = module_->types();
  switch (type->kind) {
    case ir::TypeKind::Block:
      return types.Block(AxisFor(type->axes[0]));
    case ir::TypeKind::Tile: {
      AxisList axes;
      for (AxisId axis : type->axes) axes.push_back(AxisFor(axis));
      std::ranges::sort(axes);
      return types.Tile(type->scalar, axes);
    }
    case ir::TypeKind::Tensor:
    case ir::TypeKind::Pipe: {
      std::vector<Size> dims;
      for (Size dim : type->dims) dims.push_back(Sized(dim));
      return type->kind == ir::TypeKind::Pipe ? types.Pipe(type->scalar, dims)
                                              : types.Tensor(type->scalar, dims);
    }
    default:
      return type;
  }
}

ir::Attr Copier::AttrFor(ir::Attr attr) {
  if (auto* axes = std::get_if<AxisList>(&attr.value)) {
    for (AxisId& axis : *axes) axis = AxisFor(axis);
  } else if (auto* size = std::get_if<Size>(&attr.value)) {
    *size = Sized(*size);
  } else if (auto* access = std::get_if<ir::Access>(&attr.value)) {
    for (ir::AccessDim& dim : access->dims) {
      dim.offset = Sized(dim.offset);
      for (ir::AccessTerm& term : dim.terms) term.coefficient = Sized(term.coefficient);
    }
  }
  return attr;
}

Op* Copier::Copy(const Op* op, ir::Builder& b) {
  auto segments = SegmentsOf(op, [this](Value* value) { return ValueFor(value); });
  std::vector<ir::Type> types;
  for (const Value* result : op->results()) types.push_back(TypeFor(result->type()));
  std::vector<ir::Attr> attrs;
  for (const ir::Attr& attr : op->attrs()) attrs.push_back(AttrFor(attr));
  ir::Loc outer = b.loc();
  b.set_loc(op->loc());
  Op* copy = b.Create(op->kind(), segments, std::move(types), std::move(attrs));
  b.set_loc(outer);
  StandFor(op, copy, values);
  for (size_t r = 0; r < op->regions().size(); ++r) {
    ir::Builder inner(*module_, copy->region(r));
    for (Value* param : op->region(r)->params())
      values[param] = inner.AddParam(copy->region(r), TypeFor(param->type()), param->name());
    for (const Op* nested : *op->region(r)) Copy(nested, inner);
  }
  return copy;
}

}  // namespace kdl::passes
