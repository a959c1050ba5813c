#include "passes/rewriting/element_access.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "support/is_within.h"

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
    bool is_walked = d < access.in_domain.size() && access.in_domain[d];
    if (is_walked && IsConstant(map.dims[d].offset, 0)) continue;
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

Value* And(ir::Builder& b, Value* x, Value* y) {
  if (!x || !y) return x ? x : y;
  return b.And(x, y);
}

/// One dimension of an access, whose index is `base` + an offset. If `is_walked`, `base` is in bounds.
struct DimOfAccess {
  ir::AccessDim dim;
  Value* bound;
  bool is_walked;

  /// Whether the index is certainly at least 0.
  bool IsFromZero() const { return is_walked && dim.offset->value >= 0; }
  /// Whether the index is certainly below the bound.
  bool IsBelowBound() const { return is_walked && dim.offset->value <= 0; }
};

DimOfAccess DimOf(ir::Builder& b, const ElementAccess& access, size_t d) {
  ir::AccessDim dim = access.op->attr<AttrKey::Access>().dims[d];
  constexpr int64_t kLargest = int64_t{1}
                               << 60;  // with larger offsets, the index might wrap around
  bool is_small = IsConstant(dim.offset) && IsWithin(dim.offset->value, kLargest);
  bool is_walked = d < access.in_domain.size() && access.in_domain[d] && is_small;
  return {dim, b.SizeValue(access.tensor->type()->dims[d]), is_walked};
}

/// Returns whether the index is in bounds, or null if it always is. No size is negative, so as an unsigned number, a negative
/// index is not below the bound.
Value* IsIndexInside(ir::Builder& b, const ElementAccess& access, const DimOfAccess& dim) {
  Value* index = IndexValue(b, dim.dim, access.index);
  if (dim.IsFromZero()) return dim.IsBelowBound() ? nullptr : b.Lt(index, dim.bound);
  if (dim.IsBelowBound()) return b.Ge(index, b.I64(0));
  Value* number = b.Cast(index, Scalar::U64);
  return b.Lt(number, b.Cast(dim.bound, Scalar::U64));
}

/// Emits, for each lane of an access, whether its index is in bounds. For that it compares integers that are as narrow
/// as the elements, because their masks need no conversion.
class LanesInside {
 public:
  LanesInside(ir::Builder& b, const ElementAccess& access)
      : b_(b), access_(access), lanes_(access.chunk.lanes) {
    constexpr Scalar kIntegers[] = {Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64};
    auto bytes = static_cast<unsigned>(Bytes(access.tensor->type()->scalar));
    narrow_ = kIntegers[std::countr_zero(bytes)];
    most_ = INT64_MAX >> (64 - 8 * bytes);
  }

  /// Returns whether the lanes are in bounds in the last dimension, or null if they all are. Lane n has the index
  /// `base` + `offset` + n, so `offset` + n is compared with -`base` and with `bound` - `base`. These may be limited
  /// to the range of the narrow integers, since no `offset` + n is its smallest or largest integer.
  Value* InLastDim(DimOfAccess dim) const {
    int64_t offset = IsConstant(dim.dim.offset) ? dim.dim.offset->value : most_;
    bool fits = -most_ < offset && offset < most_ - lanes_;
    if (fits) {
      dim.dim.offset = b_.types().sizes().Constant(0);
    } else {
      offset = 0;
    }
    Value* base = IndexValue(b_, dim.dim, access_.index);
    bool is_walked = dim.is_walked && fits;  // then 0 <= base < bound
    Value* inside = nullptr;
    if (!is_walked || offset < 0) {
      Value* first = AtLeastLeast(b_.Sub(b_.I64(0), base));
      first = Narrow(is_walked ? first : AtMostMost(first));
      inside = b_.Ge(Numbers(offset), first);
    }
    if (!is_walked || offset > 0) {
      Value* end = AtMostMost(b_.Sub(dim.bound, base));
      end = Narrow(is_walked ? end : AtLeastLeast(end));
      inside = And(b_, inside, b_.Lt(Numbers(offset), end));
    }
    return inside;
  }

  /// Returns the condition for all lanes, in the same form as `InLastDim`.
  Value* AllIf(Value* condition) const {
    Value* all = b_.Int(narrow_, most_);
    Value* none = b_.Int(narrow_, -most_ - 1);
    Value* limit = b_.Splat(b_.Select(condition, all, none), lanes_);
    return b_.Lt(Numbers(0), limit);
  }

 private:
  Value* AtLeastLeast(Value* number) const { return b_.Max(number, b_.I64(-most_ - 1)); }
  Value* AtMostMost(Value* number) const { return b_.Min(number, b_.I64(most_)); }
  Value* Narrow(Value* number) const { return b_.Splat(b_.Cast(number, narrow_), lanes_); }
  Value* Numbers(int64_t offset) const {
    Value* numbers = b_.Make(OpKind::LaneNumbers, {}, b_.types().Vector(Scalar::I64, lanes_));
    return b_.Cast(b_.Add(numbers, b_.I64(offset)), narrow_);
  }

  ir::Builder& b_;
  const ElementAccess& access_;
  int64_t lanes_;
  Scalar narrow_;
  int64_t most_;  ///< the largest narrow integer
};

/// Returns whether the index is in bounds in every dimension, for each lane.
Value* IsInside(ir::Builder& b, const ElementAccess& access) {
  size_t dims = access.op->attr<AttrKey::Access>().dims.size();
  bool is_vector = access.chunk.lanes > 1;
  Value* of_row = nullptr;
  Value* of_lanes = nullptr;
  for (size_t d = 0; d < dims; ++d) {
    DimOfAccess dim = DimOf(b, access, d);
    if (is_vector && d + 1 == dims) {
      of_lanes = LanesInside(b, access).InLastDim(dim);
    } else {
      of_row = And(b, of_row, IsIndexInside(b, access, dim));
    }
  }
  if (!of_row && !of_lanes) of_row = b.Bool(true);
  if (is_vector && of_row) of_row = LanesInside(b, access).AllIf(of_row);
  return And(b, of_lanes, of_row);
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

bool WalksDimension(const ir::Function& function, const Op* elementwise, const Op* access,
                    size_t dim) {
  const ir::Access map = access->attr<AttrKey::Access>();
  const std::vector<ir::AccessTerm>& terms = map.dims[dim].terms;
  if (terms.size() != 1 || !IsConstant(terms[0].coefficient, 1)) return false;
  const Value* index = IndexOf(access)[terms[0].operand];
  const std::vector<Value*>& params = elementwise->region()->params();
  auto param = std::ranges::find(params, index);
  if (param == params.end()) return false;
  const Value* block = elementwise->operand(static_cast<size_t>(param - params.begin()));
  return function.axis(block->type()->axes[0]).domain == TensorOf(access)->type()->dims[dim];
}

ElementAccess Widened(ir::Builder& b, ElementAccess access) {
  for (Value*& operand : access.index) operand = b.Cast(operand, Scalar::I64);
  return access;
}

ElementAccess Checked(ir::Builder& b, const ElementAccess& narrow) {
  ElementAccess access = Widened(b, narrow);
  if (access.op->attr<AttrKey::BoundsMode>() != BoundsMode::Guard) return access;
  auto check = [&] { CheckAll(b, access); };
  access.mask ? MakeIf(b, access.mask, check) : check();
  access.is_checked = true;
  return access;
}

Value* ExpandLoad(ir::Builder& b, const ElementAccess& narrow) {
  ElementAccess access = Widened(b, narrow);
  Scalar scalar = access.tensor->type()->scalar;
  bool has_else = access.op->attr<AttrKey::BoundsMode>() == BoundsMode::Else;
  Value* inside = has_else ? IsInside(b, access) : nullptr;
  Value* condition = And(b, access.mask, inside);
  if (access.chunk.lanes > 1) {
    Value* mask = And(b, access.chunk.mask, condition);
    Value* loaded = PlainLoad(b, access, mask);
    // Lanes that the chunk does not have may have any value, so one mask is enough.
    if (has_else) loaded = b.Select(access.mask ? inside : mask, loaded, access.otherwise);
    return loaded;
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
  bool is_vector = access.chunk.lanes > 1;
  bool checks = !access.is_checked && access.op->attr<AttrKey::BoundsMode>() == BoundsMode::Guard;
  // Indices are only checked if the mask is true.
  bool has_branch = access.mask && (!is_vector || (checks && !ir::IsVector(access.mask->type())));
  if (is_vector && !has_branch)
    return PlainStore(b, access, value, And(b, access.chunk.mask, access.mask));
  auto store = [&] { PlainStore(b, access, value, is_vector ? access.chunk.mask : nullptr); };
  has_branch ? MakeIf(b, access.mask, store) : store();
}

void ExpandUpdate(ir::Builder& b, const ElementAccess& narrow, Value* value) {
  ElementAccess access = Widened(b, narrow);
  auto update = [&] { PlainUpdate(b, access, value); };
  access.mask ? MakeIf(b, access.mask, update) : update();
}

}  // namespace kdl::passes
