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

/// The index of one dimension, as arithmetic; of several lanes the first one's.
Value* IndexValue(Expander& e, const ElementAccess& access, const ir::AccessDim& dim) {
  Value* sum = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    Value* part = access.index[term.operand];
    if (!IsConstant(term.coefficient, 1))
      part = e.b.Binary(OpKind::Mul, part, e.b.SizeValue(term.coefficient));
    sum = sum ? e.b.Binary(OpKind::Add, sum, part) : part;
  }
  if (!sum) return e.b.SizeValue(dim.offset);
  return IsConstant(dim.offset, 0) ? sum : e.b.Binary(OpKind::Add, sum, e.b.SizeValue(dim.offset));
}

/// Dimensions that a pass has put before those of the source.
size_t Leading(const ir::Op* op) {
  return op->HasAttr(AttrKey::Leading) ? static_cast<size_t>(op->attr<AttrKey::Leading>()) : 0;
}

void MakeCheck(Expander& e, const ElementAccess& access, size_t dim, Value* index, Value* bound) {
  e.b.Create(OpKind::Check, {{index}, {bound}}, {},
             {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(dim - Leading(access.op))),
              ir::MakeAttr<AttrKey::Text>(access.op->attr<AttrKey::Text>())});
}

/// Of several lanes the first that is outside is reported: lane 0, or the one at the bound.
void CheckAll(Expander& e, const ElementAccess& access) {
  if (access.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
  ir::Access map = access.op->attr<AttrKey::Access>();
  for (size_t d = Leading(access.op); d < map.dims.size(); ++d) {
    Value* index = IndexValue(e, access, map.dims[d]);
    Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
    MakeCheck(e, access, d, index, bound);
    if (access.piece.lanes == 1 || d + 1 != map.dims.size()) continue;
    Value* count = access.piece.count ? access.piece.count : e.b.I64(access.piece.lanes);
    Value* behind = e.b.Binary(OpKind::Add, index, count);
    Value* last = e.b.Binary(OpKind::Sub, behind, e.b.I64(1));
    MakeCheck(e, access, d, e.b.Binary(OpKind::Min, last, bound), bound);
  }
}

/// Whether every dimension's index lies inside, for each lane.
Value* IsInside(Expander& e, const ElementAccess& access) {
  ir::Access map = access.op->attr<AttrKey::Access>();
  Value* inside = e.b.Bool(true);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = IndexValue(e, access, map.dims[d]);
    Value* bound = e.b.SizeValue(access.tensor->type()->dims[d]);
    if (access.piece.lanes > 1 && d + 1 == map.dims.size()) {
      ir::Type numbers = e.TypeOf(kdl::Scalar::I64, access.piece.lanes);
      index = e.b.Binary(OpKind::Add, index, e.b.Make(OpKind::LaneNumbers, {}, numbers));
    }
    inside = e.b.Binary(OpKind::And, inside, e.b.Binary(OpKind::Ge, index, e.b.I64(0)));
    inside = e.b.Binary(OpKind::And, inside, e.b.Binary(OpKind::Lt, index, bound));
  }
  return inside;
}

std::vector<ir::Attr> ProvenAttrs(const ir::Op* op) {
  return {ir::MakeAttr<AttrKey::Access>(op->attr<AttrKey::Access>()),
          ir::MakeAttr<AttrKey::Edge>(EdgeKind::Proven)};
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
              {e.TypeOf(scalar, access.piece.lanes)}, ProvenAttrs(access.op))
      ->result();
}

void PlainStore(Expander& e, const ElementAccess& access, Value* value, Value* mask) {
  CheckAll(e, access);
  int64_t lanes = access.piece.lanes;
  Values masks;
  if (mask) masks.push_back(e.b.Splat(mask, lanes));
  std::vector<ir::Attr> attrs = ProvenAttrs(access.op);
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

/// `element how value`; a narrow float in f32, then rounded.
Value* Updated(Expander& e, ir::UpdateKind how, Value* element, Value* value) {
  static constexpr OpKind kOps[] = {OpKind::Const, OpKind::Add, OpKind::Max, OpKind::Min,
                                    OpKind::And,   OpKind::Or,  OpKind::Xor};
  if (how == ir::UpdateKind::Set) return value;
  Scalar scalar = value->type()->scalar;
  Scalar wide = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  Value* before = e.b.Cast(element, wide);
  Value* result = e.b.Binary(kOps[static_cast<size_t>(how)], before, e.b.Cast(value, wide));
  return e.b.Cast(result, scalar);
}

void PlainUpdate(Expander& e, const ElementAccess& access, Value* value) {
  CheckAll(e, access);
  std::vector<ir::Attr> attrs = ProvenAttrs(access.op);
  auto how = access.op->attr<AttrKey::How>();
  if (access.op->attr<AttrKey::Scope>() == ir::ScopeKind::Launch) {
    attrs.push_back(ir::MakeAttr<AttrKey::How>(how));
    attrs.push_back(ir::MakeAttr<AttrKey::Scope>(ir::ScopeKind::Launch));
    e.b.Create(OpKind::Update, {{value}, {access.tensor}, access.index, {}}, {}, std::move(attrs));
    return;
  }
  Value* element = e.b.Create(OpKind::Load, {{access.tensor}, access.index, {}, {}},
                              {e.ScalarType(value->type()->scalar)}, attrs)
                       ->result();
  e.b.Create(OpKind::Store, {{Updated(e, how, element, value)}, {access.tensor}, access.index, {}},
             {}, std::move(attrs));
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
