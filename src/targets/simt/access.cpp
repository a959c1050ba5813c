#include "targets/simt/access.h"

#include "ir/views.h"

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::EdgeKind;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::Values;

/// Indices are computed as i64.
void Widen(ir::Builder& b, ElementAccess& access) {
  for (Value*& operand : access.index) operand = b.Cast(operand, Scalar::I64);
}

Value* IndexValue(ir::Builder& b, const ElementAccess& access, const ir::AccessDim& dim) {
  Value* sum = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    Value* part = access.index[term.operand];
    if (!IsConstant(term.coefficient, 1))
      part = b.Binary(OpKind::Mul, part, b.SizeValue(term.coefficient));
    sum = sum ? b.Binary(OpKind::Add, sum, part) : part;
  }
  if (!sum) return b.SizeValue(dim.offset);
  return IsConstant(dim.offset, 0) ? sum : b.Binary(OpKind::Add, sum, b.SizeValue(dim.offset));
}

/// Dimensions that a pass has put before those of the source.
size_t Leading(const ir::Op* op) {
  return op->HasAttr(AttrKey::Leading) ? static_cast<size_t>(op->attr<AttrKey::Leading>()) : 0;
}

void CheckAll(ir::Builder& b, const ElementAccess& access) {
  if (access.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
  ir::Access map = access.op->attr<AttrKey::Access>();
  size_t leading = Leading(access.op);
  for (size_t d = leading; d < map.dims.size(); ++d) {
    Value* index = IndexValue(b, access, map.dims[d]);
    Value* bound = b.SizeValue(access.tensor->type()->dims[d]);
    b.Create(OpKind::Check, {{index}, {bound}}, {},
             {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(d - leading)),
              ir::MakeAttr<AttrKey::Text>(access.op->attr<AttrKey::Text>())});
  }
}

Value* IsInside(ir::Builder& b, const ElementAccess& access) {
  ir::Access map = access.op->attr<AttrKey::Access>();
  Value* inside = b.Bool(true);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = IndexValue(b, access, map.dims[d]);
    Value* bound = b.SizeValue(access.tensor->type()->dims[d]);
    inside = b.Binary(OpKind::And, inside, b.Binary(OpKind::Ge, index, b.I64(0)));
    inside = b.Binary(OpKind::And, inside, b.Binary(OpKind::Lt, index, bound));
  }
  return inside;
}

std::vector<ir::Attr> ProvenAttrs(const ir::Op* op) {
  return {ir::MakeAttr<AttrKey::Access>(op->attr<AttrKey::Access>()),
          ir::MakeAttr<AttrKey::Edge>(EdgeKind::Proven)};
}

Value* PlainLoad(ir::Builder& b, const ElementAccess& access) {
  CheckAll(b, access);
  ir::Type type = b.types().ScalarOf(access.tensor->type()->scalar);
  return b
      .Create(OpKind::Load, {{access.tensor}, access.index, {}, {}}, {type}, ProvenAttrs(access.op))
      ->result();
}

/// `element how value`; a narrow float in f32, then rounded.
Value* Updated(ir::Builder& b, ir::UpdateKind how, Value* element, Value* value) {
  static constexpr OpKind kOps[] = {OpKind::Const, OpKind::Add, OpKind::Max, OpKind::Min,
                                    OpKind::And,   OpKind::Or,  OpKind::Xor};
  if (how == ir::UpdateKind::Set) return value;
  Scalar scalar = value->type()->scalar;
  Scalar wide = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  Value* before = b.Cast(element, wide);
  Value* operand = b.Cast(value, wide);
  return b.Cast(b.Binary(kOps[static_cast<size_t>(how)], before, operand), scalar);
}

void PlainUpdate(ir::Builder& b, const ElementAccess& access, Value* value) {
  auto how = access.op->attr<AttrKey::How>();
  std::vector<ir::Attr> attrs = ProvenAttrs(access.op);
  if (access.op->attr<AttrKey::Scope>() == ir::ScopeKind::Launch) {
    CheckAll(b, access);
    attrs.push_back(ir::MakeAttr<AttrKey::How>(how));
    attrs.push_back(ir::MakeAttr<AttrKey::Scope>(ir::ScopeKind::Launch));
    b.Create(OpKind::Update, {{value}, {access.tensor}, access.index, {}}, {}, std::move(attrs));
    return;
  }
  Value* element = PlainLoad(b, access);
  Value* after = Updated(b, how, element, value);
  b.Create(OpKind::Store, {{after}, {access.tensor}, access.index, {}}, {}, std::move(attrs));
}

}  // namespace

Value* ExpandLoad(ir::Builder& b, ElementAccess access) {
  Widen(b, access);
  Value* condition = access.mask;
  if (access.op->attr<AttrKey::Edge>() == EdgeKind::Else) {
    Value* inside = IsInside(b, access);
    condition = condition ? b.Binary(OpKind::And, condition, inside) : inside;
  }
  if (!condition) return PlainLoad(b, access);
  // Where only the mask says no, the element is unspecified: zero.
  Scalar scalar = access.tensor->type()->scalar;
  return MakeIf(
      b, condition, {b.types().ScalarOf(scalar)},
      [&]() -> Values { return {PlainLoad(b, access)}; },
      [&]() -> Values { return {access.otherwise ? access.otherwise : b.Bits(scalar, 0)}; })[0];
}

void ExpandStore(ir::Builder& b, ElementAccess access, Value* value) {
  Widen(b, access);
  auto store = [&] {
    CheckAll(b, access);
    b.Create(OpKind::Store, {{value}, {access.tensor}, access.index, {}}, {},
             ProvenAttrs(access.op));
  };
  access.mask ? MakeIf(b, access.mask, store) : store();
}

void ExpandUpdate(ir::Builder& b, ElementAccess access, Value* value) {
  Widen(b, access);
  auto update = [&] { PlainUpdate(b, access, value); };
  access.mask ? MakeIf(b, access.mask, update) : update();
}

}  // namespace kdl::simt
