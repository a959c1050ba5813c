#include "targets/simt/access.h"

#include "ir/views.h"
#include "passes/element_access.h"

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::EdgeKind;
using ir::OpKind;
using ir::Value;
using passes::IndexValue;
using passes::MakeIf;
using passes::Values;

/// Indices are computed as i64.
void Widen(ir::Builder& b, ElementAccess& access) {
  for (Value*& operand : access.index) operand = b.Cast(operand, Scalar::I64);
}

void CheckAll(ir::Builder& b, const ElementAccess& access) {
  if (access.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
  ir::Access map = access.op->attr<AttrKey::Access>();
  for (size_t d = passes::LeadingDims(access.op); d < map.dims.size(); ++d) {
    Value* index = IndexValue(b, map.dims[d], access.index);
    Value* bound = b.SizeValue(access.tensor->type()->dims[d]);
    passes::MakeCheck(b, access.op, d, index, bound);
  }
}

Value* IsInside(ir::Builder& b, const ElementAccess& access) {
  ir::Access map = access.op->attr<AttrKey::Access>();
  Value* inside = b.Bool(true);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = IndexValue(b, map.dims[d], access.index);
    inside = passes::AndInside(b, inside, index, b.SizeValue(access.tensor->type()->dims[d]));
  }
  return inside;
}

Value* PlainLoad(ir::Builder& b, const ElementAccess& access) {
  CheckAll(b, access);
  ir::Type type = b.types().ScalarOf(access.tensor->type()->scalar);
  return b
      .Create(OpKind::Load, {{access.tensor}, access.index, {}, {}}, {type},
              passes::ProvenAttrs(access.op))
      ->result();
}

void PlainStore(ir::Builder& b, const ElementAccess& access, Value* value) {
  b.Create(OpKind::Store, {{value}, {access.tensor}, access.index, {}}, {},
           passes::ProvenAttrs(access.op));
}

void PlainUpdate(ir::Builder& b, const ElementAccess& access, Value* value) {
  if (passes::IsOfLaunch(access.op)) {
    CheckAll(b, access);
    return passes::MakeLaunchUpdate(b, access.op, value, access.tensor, access.index);
  }
  Value* element = PlainLoad(b, access);
  PlainStore(b, access, passes::Updated(b, access.op->attr<AttrKey::How>(), element, value));
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
    PlainStore(b, access, value);
  };
  access.mask ? MakeIf(b, access.mask, store) : store();
}

void ExpandUpdate(ir::Builder& b, ElementAccess access, Value* value) {
  Widen(b, access);
  auto update = [&] { PlainUpdate(b, access, value); };
  access.mask ? MakeIf(b, access.mask, update) : update();
}

}  // namespace kdl::simt
