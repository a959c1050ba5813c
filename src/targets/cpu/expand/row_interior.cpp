#include "targets/cpu/expand/row_interior.h"

#include <algorithm>
#include <cstdlib>

#include "passes/rewriting/rewrite.h"
#include "support/is_within.h"

namespace kdl::cpu {

namespace {

/// A sum of a few terms up to this limit can be added to positions without overflow.
constexpr int64_t kLargestTerm = int64_t{1} << 58;
/// A size is below 2^44 (KDL_LARGEST_SIZE), so its product with a factor up to this limit is below kLargestTerm.
constexpr int64_t kSmallFactor = int64_t{1} << 14;

}  // namespace

RowInterior::Part RowInterior::PartOf(const Window& row, Value* exists,
                                      const std::vector<PointCondition>& of_rows) {
  Part part{row.lo, row.hi, AllExact(AllHold(exists, of_rows), interior_.exact)};
  for (const PointCondition& condition : interior_.conditions) Narrow(condition, part);
  return part;
}

Value* RowInterior::AllHold(Value* all, const std::vector<PointCondition>& conditions) {
  Part part{nullptr, nullptr, all};
  for (const PointCondition& condition : conditions) Narrow(condition, part);
  return part.exists;
}

/// Returns whether `all` is true and the sums do not wrap around in this row.
Value* RowInterior::AllExact(Value* all, const std::vector<PointCondition>& sums) {
  for (const PointCondition& sum : sums) all = e_.b.And(all, InRow(sum).is_exact);
  return all;
}

RowInterior::RowSum RowInterior::InRow(const PointCondition& condition) {
  const Value* point = body_.elementwise()->region()->params().back();
  RowSum sum{0, e_.b.I64(condition.constant), e_.b.Bool(true)};
  for (const auto& [size, times] : condition.sizes) {
    Value* number = e_.b.SizeValue(size);
    sum.rest = e_.b.Add(sum.rest, Times(number, times));
    if (size->kind != SizeKind::Symbol || !IsWithin(times, kSmallFactor))
      sum.is_exact = e_.b.And(sum.is_exact, IsSmall(number, times));
  }
  for (const auto& [value, times] : condition.terms) {
    Value* start = e_.blocks.at(body_.elementwise()->operands().back()).start;
    Value* known = value == point ? start : body_.InRow(const_cast<Value*>(value));
    known = e_.b.Cast(known, Scalar::I64);
    sum.rest = e_.b.Add(sum.rest, Times(known, times));
    if (value == point) sum.factor = times;
    if (!IsIndexOfDimension(value)) sum.is_exact = e_.b.And(sum.is_exact, IsSmall(known, times));
  }
  return sum;
}

bool RowInterior::IsIndexOfDimension(const Value* value) const {
  const std::vector<Value*>& params = body_.elementwise()->region()->params();
  auto at = std::ranges::find(params, value);
  if (at == params.end()) return false;
  ir::AxisId axis = body_.axes()[static_cast<size_t>(at - params.begin())];
  Size domain = e_.function.axis(axis).domain;
  return domain && (domain->kind == SizeKind::Symbol || domain->kind == SizeKind::Constant);
}

/// Returns whether the value, which a condition multiplies by `factor`, is so close to 0 that the sums of
/// conditions do not overflow. Elsewhere, the row has no interior.
Value* RowInterior::IsSmall(Value* value, int64_t factor) {
  int64_t most =
      IsWithin(factor, kLargestTerm) ? kLargestTerm / std::max<int64_t>(std::abs(factor), 1) : 0;
  Value* is_above = e_.b.Ge(value, e_.b.I64(-most));
  return e_.b.And(is_above, e_.b.Le(value, e_.b.I64(most)));
}

/// Restricts the positions to those at which the condition is true.
void RowInterior::Narrow(const PointCondition& condition, Part& part) {
  auto [factor, rest, is_exact] = InRow(condition);
  // A sum without the position wraps like the index that it stands for.
  part.exists = e_.b.And(part.exists, factor == 0 ? e_.b.Ge(rest, e_.b.I64(0)) : is_exact);
  if (factor > 0) {
    Value* needed = e_.b.Sub(e_.b.I64(0), FloorDiv(rest, factor));
    part.lo = e_.b.Max(part.lo, needed);
  } else if (factor < 0) {
    Value* end = e_.b.Add(FloorDiv(rest, -factor), e_.b.I64(1));
    part.hi = e_.b.Min(part.hi, end);
  }
}

Value* RowInterior::Times(Value* value, int64_t factor) {
  return factor == 1 ? value : e_.b.Mul(value, e_.b.I64(factor));
}
Value* RowInterior::FloorDiv(Value* value, int64_t divisor) {
  return divisor == 1 ? value : e_.b.Div(value, e_.b.I64(divisor));
}

}  // namespace kdl::cpu
