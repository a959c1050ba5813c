#include "passes/expand/expander.h"

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::EdgeKind;
using ir::OpKind;
using ir::Value;

/// The same access with every operand as i64, in which indices are computed.
ElementAccess Widened(Expander& e, ElementAccess access) {
  for (Value*& operand : access.index) operand = e.b.Cast(operand, kdl::Scalar::I64);
  return access;
}

/// The index of one dimension, as arithmetic.
Value* IndexValue(Expander& e, const ElementAccess& access, const ir::AccessDim& dim) {
  Value* sum = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    Value* part = e.b.Cast(access.index[term.operand], kdl::Scalar::I64);
    if (!IsConstant(term.coefficient, 1))
      part = e.b.Binary(OpKind::Mul, part, e.b.SizeValue(term.coefficient));
    sum = sum ? e.b.Binary(OpKind::Add, sum, part) : part;
  }
  if (!sum) return e.b.SizeValue(dim.offset);
  return IsConstant(dim.offset, 0) ? sum : e.b.Binary(OpKind::Add, sum, e.b.SizeValue(dim.offset));
}

void CheckAll(Expander& e, const ElementAccess& access) {
  if (access.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
  ir::Access map = access.op->attr<AttrKey::Access>();
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = IndexValue(e, access, map.dims[d]);
    Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
    e.b.Create(OpKind::Check, {{index}, {bound}}, {},
               {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(d)),
                ir::MakeAttr<AttrKey::Text>(access.op->attr<AttrKey::Text>())});
  }
}

/// Whether every dimension's index lies inside.
Value* IsInside(Expander& e, const ElementAccess& access) {
  ir::Access map = access.op->attr<AttrKey::Access>();
  Value* inside = e.b.Bool(true);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = IndexValue(e, access, map.dims[d]);
    Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
    inside = e.b.Binary(OpKind::And, inside, e.b.Binary(OpKind::Ge, index, e.b.I64(0)));
    inside = e.b.Binary(OpKind::And, inside, e.b.Binary(OpKind::Lt, index, bound));
  }
  return inside;
}

std::vector<ir::Attr> ProvenAttrs(const ir::Op* op) {
  return {ir::MakeAttr<AttrKey::Access>(op->attr<AttrKey::Access>()),
          ir::MakeAttr<AttrKey::Edge>(EdgeKind::Proven)};
}

Value* PlainLoad(Expander& e, const ElementAccess& access, kdl::Scalar scalar) {
  CheckAll(e, access);
  return e.b
      .Create(OpKind::Load, {{access.tensor}, access.index, {}, {}}, {e.ScalarType(scalar)},
              ProvenAttrs(access.op))
      ->result();
}

}  // namespace

Value* ExpandLoad(Expander& e, const ElementAccess& narrow, kdl::Scalar scalar) {
  ElementAccess access = Widened(e, narrow);
  bool has_else = access.op->attr<AttrKey::Edge>() == EdgeKind::Else;
  if (!has_else && !access.mask) return PlainLoad(e, access, scalar);
  Value* condition = access.mask;
  if (has_else) {
    Value* inside = IsInside(e, access);
    condition = condition ? e.b.Binary(OpKind::And, condition, inside) : inside;
  }
  // Where only the mask says no, the element is unspecified: zero.
  return MakeIf(
      e, condition, {e.ScalarType(scalar)}, [&] { return Values{PlainLoad(e, access, scalar)}; },
      [&] { return Values{access.otherwise ? access.otherwise : e.b.Bits(scalar, 0)}; })[0];
}

void ExpandStore(Expander& e, const ElementAccess& narrow, Value* value) {
  ElementAccess access = Widened(e, narrow);
  auto store = [&]() -> Values {
    CheckAll(e, access);
    e.b.Create(OpKind::Store, {{value}, {access.tensor}, access.index, {}}, {},
               ProvenAttrs(access.op));
    return {};
  };
  if (!access.mask) {
    store();
  } else {
    MakeIf(e, access.mask, {}, store, [] { return Values{}; });
  }
}

}  // namespace kdl::passes
