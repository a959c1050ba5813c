#include "passes/rewriting/element_access.h"

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

using ir::BoundsMode;

namespace {

/// Returns the number of leading dimensions that a pass has added before the dimensions in the source.
size_t LeadingDims(const Op* access) {
  bool has = access->HasAttr(AttrKey::Leading);
  return has ? static_cast<size_t>(access->attr<AttrKey::Leading>()) : 0;
}

/// Traps unless the index of dimension `dim` is in bounds. The dimension number in the message does not count
/// dimensions that a pass has added.
void MakeCheck(ir::Builder& b, const Op* access, size_t dim, Value* index, Value* bound) {
  b.Create(OpKind::Check, {{index}, {bound}}, {},
           {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(dim - LeadingDims(access))),
            ir::MakeAttr<AttrKey::Text>(access->attr<AttrKey::Text>())});
}

/// Checks the indices of all lanes. If lanes are out of bounds, reports the first of them. Since indices
/// ascend, that is lane 0 or the lane whose index equals the bound.
void CheckAll(ir::Builder& b, const ElementAccess& access) {
  if (access.is_checked || access.op->attr<AttrKey::BoundsMode>() != BoundsMode::Guard) return;
  ir::Access map = access.op->attr<AttrKey::Access>();
  for (size_t d = LeadingDims(access.op); d < map.dims.size(); ++d) {
    Value* index = IndexValue(b, map.dims[d], access.index);
    Value* bound = b.SizeValue(access.tensor->type()->dims[d]);
    MakeCheck(b, access.op, d, index, bound);
    if (access.chunk.lanes == 1 || d + 1 != map.dims.size()) continue;
    Value* count = access.chunk.count ? access.chunk.count : b.I64(access.chunk.lanes);
    Value* after = b.Add(index, count);
    Value* last = b.Sub(after, b.I64(1));
    MakeCheck(b, access.op, d, b.Min(last, bound), bound);
  }
}

Value* LaneMask(ir::Builder& b, Value* count, int64_t lanes) {
  return b.Make(OpKind::LaneMask, {count}, b.types().Vector(Scalar::Bool, lanes));
}

/// Returns, for each lane, whether the index is in bounds in every dimension. The lanes that are in bounds are
/// contiguous: those from lane -index on that precede lane (bound - index) of the last dimension.
Value* IsInside(ir::Builder& b, const ElementAccess& access) {
  ir::Access map = access.op->attr<AttrKey::Access>();
  int64_t lanes = access.chunk.lanes;
  Value* inside = b.Bool(true);
  for (size_t d = 0; d < map.dims.size(); ++d) {
    Value* index = IndexValue(b, map.dims[d], access.index);
    Value* bound = b.SizeValue(access.tensor->type()->dims[d]);
    if (lanes > 1 && d + 1 == map.dims.size()) {
      Value* zero = b.I64(0);
      Value* end = b.Select(inside, b.Sub(bound, index), zero);
      Value* before = LaneMask(b, b.Sub(zero, index), lanes);
      Value* after = b.Unary(OpKind::Not, before);
      return b.And(LaneMask(b, end, lanes), after);
    }
    inside = b.And(inside, b.Ge(index, b.I64(0)));
    inside = b.And(inside, b.Lt(index, bound));
  }
  return inside;
}

Value* And(ir::Builder& b, Value* x, Value* y) {
  if (!x || !y) return x ? x : y;
  return b.And(x, y);
}

Values Masks(ir::Builder& b, const ElementAccess& access, Value* mask) {
  return OneOrNone(mask ? b.Splat(mask, access.chunk.lanes) : nullptr);
}

std::vector<ir::Attr> ProvenAttrs(const Op* access) {
  return {ir::MakeAttr<AttrKey::Access>(access->attr<AttrKey::Access>()),
          ir::MakeAttr<AttrKey::BoundsMode>(BoundsMode::Proven)};
}

Value* InsideLoad(ir::Builder& b, const ElementAccess& access, Value* mask) {
  ir::Type type = b.types().Vector(access.tensor->type()->scalar, access.chunk.lanes);
  return MakeOne(b, OpKind::Load, {{access.tensor}, access.index, {}, Masks(b, access, mask)}, type,
                 ProvenAttrs(access.op));
}

Value* PlainLoad(ir::Builder& b, const ElementAccess& access, Value* mask) {
  CheckAll(b, access);
  return InsideLoad(b, access, mask);
}

void InsideStore(ir::Builder& b, const ElementAccess& access, Value* value, Value* mask) {
  std::vector<ir::Attr> attrs = ProvenAttrs(access.op);
  if (access.past_caches) attrs.push_back(ir::MakeAttr<AttrKey::Cache>(ir::CacheKind::Past));
  Value* stored = b.Splat(value, access.chunk.lanes);
  b.Create(OpKind::Store, {{stored}, {access.tensor}, access.index, Masks(b, access, mask)}, {},
           std::move(attrs));
}

void PlainStore(ir::Builder& b, const ElementAccess& access, Value* value, Value* mask) {
  CheckAll(b, access);
  InsideStore(b, access, value, mask);
}

/// Returns the value of an element after an update. Narrow floats are computed in f32 and then rounded.
Value* Updated(ir::Builder& b, ir::UpdateKind how, Value* element, Value* value) {
  if (how == ir::UpdateKind::Set) return value;
  Scalar scalar = value->type()->scalar;
  Scalar wide = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  Value* before = b.Cast(element, wide);
  Value* operand = b.Cast(value, wide);
  return b.Cast(b.Binary(ir::CombineOf(how), before, operand), scalar);
}

void PlainUpdate(ir::Builder& b, const ElementAccess& access, Value* value) {
  CheckAll(b, access);
  auto how = access.op->attr<AttrKey::How>();
  if (access.op->attr<AttrKey::Scope>() == ir::ScopeKind::Launch) {
    std::vector<ir::Attr> attrs = ProvenAttrs(access.op);
    attrs.push_back(ir::MakeAttr<AttrKey::How>(how));
    attrs.push_back(ir::MakeAttr<AttrKey::Scope>(ir::ScopeKind::Launch));
    b.Create(OpKind::Update, {{value}, {access.tensor}, access.index, {}}, {}, std::move(attrs));
  } else {
    Value* element = InsideLoad(b, access, nullptr);
    InsideStore(b, access, Updated(b, how, element, value), nullptr);
  }
}

}  // namespace

Value* IndexValue(ir::Builder& b, const ir::AccessDim& dim, std::span<Value* const> index) {
  Value* sum = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    Value* part = index[term.operand];
    if (!IsConstant(term.coefficient, 1)) part = b.Mul(part, b.SizeValue(term.coefficient));
    sum = sum ? b.Add(sum, part) : part;
  }
  if (!sum) return b.SizeValue(dim.offset);
  return IsConstant(dim.offset, 0) ? sum : b.Add(sum, b.SizeValue(dim.offset));
}

ElementAccess ElementAccessOf(const Op* op, const std::function<Value*(Value*)>& value) {
  ElementAccess access{op, value(TensorOf(op)), {}};
  for (Value* index : IndexOf(op)) access.index.push_back(value(index));
  const Value* element = op->kind() == OpKind::Load ? op->result() : op->operand(0);
  access.chunk.lanes = ir::Lanes(element->type());
  if (op->kind() == OpKind::Load && !op->Segment(ir::LoadOp::at_otherwise).empty())
    access.otherwise = value(op->Segment(ir::LoadOp::at_otherwise)[0]);
  auto mask = op->Segment(ir::OperandWith(op->kind(), ir::Effect::Mask));
  if (!mask.empty()) access.mask = value(mask[0]);
  return access;
}

ElementAccess Widened(ir::Builder& b, ElementAccess access) {
  for (Value*& operand : access.index) operand = b.Cast(operand, Scalar::I64);
  return access;
}

Value* ExpandLoad(ir::Builder& b, const ElementAccess& narrow) {
  ElementAccess access = Widened(b, narrow);
  Scalar scalar = access.tensor->type()->scalar;
  bool has_else = access.op->attr<AttrKey::BoundsMode>() == BoundsMode::Else;
  Value* inside = has_else ? IsInside(b, access) : nullptr;
  Value* condition = And(b, access.mask, inside);
  if (access.chunk.lanes > 1) {
    Value* loaded = PlainLoad(b, access, And(b, access.chunk.mask, condition));
    return has_else ? b.Select(inside, loaded, access.otherwise) : loaded;
  }
  if (!condition) return PlainLoad(b, access, nullptr);
  // If an element is in bounds but its mask is false, its value is unspecified; this code uses zero.
  return MakeIf(
      b, condition, {b.types().ScalarOf(scalar)},
      [&] { return Values{PlainLoad(b, access, nullptr)}; },
      [&] { return Values{access.otherwise ? access.otherwise : b.Bits(scalar, 0)}; })[0];
}

void ExpandStore(ir::Builder& b, const ElementAccess& narrow, Value* value) {
  ElementAccess access = Widened(b, narrow);
  if (access.chunk.lanes > 1)
    return PlainStore(b, access, value, And(b, access.chunk.mask, access.mask));
  auto store = [&] { PlainStore(b, access, value, nullptr); };
  access.mask ? MakeIf(b, access.mask, store) : store();
}

void ExpandUpdate(ir::Builder& b, const ElementAccess& narrow, Value* value) {
  ElementAccess access = Widened(b, narrow);
  auto update = [&] { PlainUpdate(b, access, value); };
  access.mask ? MakeIf(b, access.mask, update) : update();
}

}  // namespace kdl::passes
