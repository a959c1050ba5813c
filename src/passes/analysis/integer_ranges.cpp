#include "passes/analysis/integer_ranges.h"

#include <algorithm>

#include "ir/lookup.h"
#include "ir/op_kind.h"

namespace kdl::passes {

namespace {

constexpr int kMostBits = 32;

Interval Hull(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

/// Returns the hull of all products, or nothing if they might overflow 64 bits.
std::optional<Interval> Products(const Interval& a, const Interval& b) {
  constexpr Interval kSmall = {-(int64_t{1} << 31), int64_t{1} << 31};
  if (!a.IsWithin(kSmall) || !b.IsWithin(kSmall)) return std::nullopt;
  auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
  return Interval{lo, hi};
}

int64_t FloorOf(int64_t a, int64_t divisor) {
  return a / divisor - (a % divisor != 0 && a < 0 ? 1 : 0);
}

/// Returns the result of an op whose second operand is a constant above 0 (for shifts: from 0 to 31).
std::optional<Interval> WithConstant(OpKind kind, const Interval& a, int64_t b) {
  bool is_shift = b >= 0 && b < kMostBits;
  switch (kind) {
    case OpKind::Div:
      if (b <= 0) return std::nullopt;
      return Interval{FloorOf(a.lo, b), FloorOf(a.hi, b)};
    case OpKind::Rem:
      return b > 0 ? std::optional(Interval{0, b - 1}) : std::nullopt;
    case OpKind::Shr:
      return is_shift ? std::optional(Interval{a.lo >> b, a.hi >> b}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Interval> ValuesOf(Scalar scalar) {
  if (scalar == Scalar::Bool) return Interval{0, 1};
  if (!IsInteger(scalar) || Info(scalar).bits > kMostBits) return std::nullopt;
  int bits = Info(scalar).bits;
  if (!IsSigned(scalar)) return Interval{0, (int64_t{1} << bits) - 1};
  return Interval{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

std::optional<Interval> IntegerRanges::RangeOf(const Value* value) {
  if (auto found = known_.find(value); found != known_.end()) return found->second;
  std::optional<Interval> all = ValuesOf(value->type()->scalar);
  std::optional<Interval> range = all;
  if (all && value->def() && value->def()->results().size() == 1) {
    std::optional<Interval> exact = ExactRangeOf(value->def());
    if (exact && exact->IsWithin(*all)) range = exact;
  }
  known_[value] = range;
  return range;
}

std::optional<Interval> IntegerRanges::ExactRangeOf(const Op* op) {
  switch (op->kind()) {
    case OpKind::Const:
      if (auto value = ConstantOf(op->result())) return Interval{*value, *value};
      return std::nullopt;
    case OpKind::Broadcast:
    case OpKind::Cast:
      return IsFloat(op->operand(0)->type()->scalar) ? std::nullopt : RangeOf(op->operand(0));
    case OpKind::Neg: {
      std::optional<Interval> a = RangeOf(op->operand(0));
      return a ? std::optional(Interval{-a->hi, -a->lo}) : std::nullopt;
    }
    case OpKind::Abs: {
      std::optional<Interval> a = RangeOf(op->operand(0));
      if (!a) return std::nullopt;
      int64_t least = a->lo > 0 ? a->lo : a->hi < 0 ? -a->hi : 0;
      return Interval{least, std::max(-a->lo, a->hi)};
    }
    case OpKind::Select: {
      std::optional<Interval> a = RangeOf(op->operand(1));
      std::optional<Interval> b = RangeOf(op->operand(2));
      return a && b ? std::optional(Hull(*a, *b)) : std::nullopt;
    }
    default:
      return op->operands().size() == 2 ? RangeOfBinary(op) : std::nullopt;
  }
}

std::optional<Interval> IntegerRanges::RangeOfBinary(const Op* op) {
  std::optional<Interval> a = RangeOf(op->operand(0));
  std::optional<Interval> b = RangeOf(op->operand(1));
  if (!a || !b) return std::nullopt;
  switch (op->kind()) {
    case OpKind::Add:
      return Interval{a->lo + b->lo, a->hi + b->hi};
    case OpKind::Sub:
      return Interval{a->lo - b->hi, a->hi - b->lo};
    case OpKind::Mul:
      return Products(*a, *b);
    case OpKind::Min:
      return Interval{std::min(a->lo, b->lo), std::min(a->hi, b->hi)};
    case OpKind::Max:
      return Interval{std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
    default:
      return b->lo == b->hi ? WithConstant(op->kind(), *a, b->lo) : std::nullopt;
  }
}

}  // namespace kdl::passes
