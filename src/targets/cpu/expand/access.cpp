#include "passes/element_access.h"
#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

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

/// Of several lanes the first that is outside is reported: lane 0, or the one at the bound.
void CheckAll(Expander& e, const ElementAccess& access) {
  if (access.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
  ir::Access map = access.op->attr<AttrKey::Access>();
  for (size_t d = passes::LeadingDims(access.op); d < map.dims.size(); ++d) {
    Value* index = passes::IndexValue(e.b, map.dims[d], access.index);
    Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
    passes::MakeCheck(e.b, access.op, d, index, bound);
    if (access.piece.lanes == 1 || d + 1 != map.dims.size()) continue;
    Value* count = access.piece.count ? access.piece.count : e.b.I64(access.piece.lanes);
    Value* behind = e.b.Binary(OpKind::Add, index, count);
    Value* last = e.b.Binary(OpKind::Sub, behind, e.b.I64(1));
    passes::MakeCheck(e.b, access.op, d, e.b.Binary(OpKind::Min, last, bound), bound);
  }
}

/// Whether every dimension's index lies inside, for each lane.
Value* IsInside(Expander& e, const ElementAccess& access) {
  ir::Access map = access.op->attr<AttrKey::Access>();
  Value* inside = e.b.Bool(true);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = passes::IndexValue(e.b, map.dims[d], access.index);
    Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
    if (access.piece.lanes > 1 && d + 1 == map.dims.size()) {
      ir::Type numbers = e.TypeOf(kdl::Scalar::I64, access.piece.lanes);
      index = e.b.Binary(OpKind::Add, index, e.b.Make(OpKind::LaneNumbers, {}, numbers));
    }
    inside = passes::AndInside(e.b, inside, index, bound);
  }
  return inside;
}

Value* And(Expander& e, Value* a, Value* b) {
  if (!a || !b) return a ? a : b;
  return e.b.Binary(OpKind::And, a, b);
}

Value* PlainLoad(Expander& e, const ElementAccess& access, kdl::Scalar scalar, Value* mask) {
  CheckAll(e, access);
  Values masks;
  if (mask) masks.push_back(e.b.Splat(mask, access.piece.lanes));
  return e.b
      .Create(OpKind::Load, {{access.tensor}, access.index, {}, masks},
              {e.TypeOf(scalar, access.piece.lanes)}, passes::ProvenAttrs(access.op))
      ->result();
}

void PlainStore(Expander& e, const ElementAccess& access, Value* value, Value* mask) {
  CheckAll(e, access);
  int64_t lanes = access.piece.lanes;
  Values masks;
  if (mask) masks.push_back(e.b.Splat(mask, lanes));
  std::vector<ir::Attr> attrs = passes::ProvenAttrs(access.op);
  if (access.past_caches) attrs.push_back(ir::MakeAttr<AttrKey::Cache>(ir::CacheKind::Past));
  e.b.Create(OpKind::Store, {{e.b.Splat(value, lanes)}, {access.tensor}, access.index, masks}, {},
             std::move(attrs));
}

}  // namespace

Value* ExpandLoad(Expander& e, const ElementAccess& narrow, kdl::Scalar scalar) {
  ElementAccess access = Widened(e, narrow);
  bool has_else = access.op->attr<AttrKey::Edge>() == EdgeKind::Else;
  Value* inside = has_else ? IsInside(e, access) : nullptr;
  Value* condition = And(e, access.mask, inside);
  if (access.piece.lanes > 1) {
    Value* loaded = PlainLoad(e, access, scalar, And(e, access.piece.mask, condition));
    return has_else ? e.b.Select(inside, loaded, access.otherwise) : loaded;
  }
  if (!condition) return PlainLoad(e, access, scalar, nullptr);
  // Where only the mask says no, the element is unspecified: zero.
  return MakeIf(
      e, condition, {e.ScalarType(scalar)},
      [&] { return Values{PlainLoad(e, access, scalar, nullptr)}; },
      [&] { return Values{access.otherwise ? access.otherwise : e.b.Bits(scalar, 0)}; })[0];
}

void ExpandStore(Expander& e, const ElementAccess& narrow, Value* value) {
  ElementAccess access = Widened(e, narrow);
  if (access.piece.lanes > 1)
    return PlainStore(e, access, value, And(e, access.piece.mask, access.mask));
  if (!access.mask) return PlainStore(e, access, value, nullptr);
  MakeIf(
      e, access.mask, {},
      [&]() -> Values {
        PlainStore(e, access, value, nullptr);
        return {};
      },
      [] { return Values{}; });
}

namespace {

void PlainUpdate(Expander& e, const ElementAccess& access, Value* value) {
  CheckAll(e, access);
  if (passes::IsOfLaunch(access.op))
    return passes::MakeLaunchUpdate(e.b, access.op, value, access.tensor, access.index);
  std::vector<ir::Attr> attrs = passes::ProvenAttrs(access.op);
  Value* element = e.b.Create(OpKind::Load, {{access.tensor}, access.index, {}, {}},
                              {e.ScalarType(value->type()->scalar)}, attrs)
                       ->result();
  Value* after = passes::Updated(e.b, access.op->attr<AttrKey::How>(), element, value);
  e.b.Create(OpKind::Store, {{after}, {access.tensor}, access.index, {}}, {}, std::move(attrs));
}

}  // namespace

void ExpandUpdate(Expander& e, const ElementAccess& narrow, Value* value) {
  ElementAccess access = Widened(e, narrow);
  if (!access.mask) return PlainUpdate(e, access, value);
  MakeIf(
      e, access.mask, {},
      [&]() -> Values {
        PlainUpdate(e, access, value);
        return {};
      },
      [] { return Values{}; });
}

void ExpandPrefetch(Expander& e, const ElementAccess& narrow, ir::IntentKind intent) {
  ElementAccess access = Widened(e, narrow);
  e.b.Create(OpKind::Prefetch, {{access.tensor}, access.index}, {},
             {ir::MakeAttr<AttrKey::Access>(access.op->attr<AttrKey::Access>()),
              ir::MakeAttr<AttrKey::Intent>(intent)});
}

Value* AlignGap(Expander& e, const ElementAccess& narrow) {
  ElementAccess access = Widened(e, narrow);
  return e.b
      .Create(OpKind::AlignGap, {{access.tensor}, access.index}, {e.ScalarType(Scalar::I64)},
              {ir::MakeAttr<AttrKey::Access>(access.op->attr<AttrKey::Access>()),
               ir::MakeAttr<AttrKey::Lanes>(access.piece.lanes)})
      ->result();
}

}  // namespace kdl::cpu
