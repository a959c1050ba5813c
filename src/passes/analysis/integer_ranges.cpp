#include "passes/analysis/integer_ranges.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "proofs/proofs.h"

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

/// Returns the result of an op whose second operand is a constant above 0 (for shifts: the number of bits, from 0 to 31).
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
    case OpKind::Shl:
      return is_shift ? Products(a, {int64_t{1} << b, int64_t{1} << b}) : std::nullopt;
    case OpKind::And:
      return b >= 0 ? std::optional(Interval{0, b}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Evaluates sums of products where each variable has its least or greatest value. A function that is linear in each
/// variable has its extremes there.
class Corners {
 public:
  using Variables = uint32_t;  ///< a bit for each variable that a value depends on

  Corners(IntegerRanges& ranges, const std::function<bool(const Value*)>& is_exact)
      : ranges_(ranges), is_exact_(is_exact) {}

  /// Returns the variables of a value; nothing if it is not linear in each of them, or if it is too large.
  std::optional<Variables> VariablesOf(const Value* value) {
    constexpr int kMostVisits = 32;
    if (++visits_ > kMostVisits) return std::nullopt;
    if (ConstantOf(value)) return Variables{0};
    if (!is_exact_(value)) return VariableFor(value);
    Variables all = 0;
    for (const Value* operand : value->def()->operands()) {
      std::optional<Variables> own = VariablesOf(operand);
      bool is_linear = own && (value->def()->kind() != OpKind::Mul || (all & *own) == 0);
      if (!is_linear) return std::nullopt;
      all |= *own;
    }
    return all;
  }

  /// Returns the hull of the values at all corners, or nothing if the range of a variable is not known.
  std::optional<Interval> HullOf(const Op* op) {
    std::vector<Interval> ranges;
    for (const Value* variable : variables_) {
      std::optional<Interval> range = ranges_.RangeOf(variable);
      if (!range) return std::nullopt;
      ranges.push_back(*range);
    }
    std::optional<Interval> hull;
    for (Variables corner = 0; corner < Variables{1} << variables_.size(); ++corner) {
      at_.clear();
      for (size_t v = 0; v < ranges.size(); ++v)
        at_.push_back((corner >> v & 1) != 0 ? ranges[v].hi : ranges[v].lo);
      int64_t value = Combined(op);
      hull = hull ? Hull(*hull, {value, value}) : Interval{value, value};
    }
    return hull;
  }

 private:
  std::optional<Variables> VariableFor(const Value* value) {
    constexpr size_t kMostVariables = 6;
    auto found = std::ranges::find(variables_, value);
    auto number = found - variables_.begin();
    if (found == variables_.end()) variables_.push_back(value);
    if (variables_.size() > kMostVariables) return std::nullopt;
    return Variables{1} << number;
  }

  int64_t ValueOf(const Value* value) const {
    if (auto constant = ConstantOf(value)) return *constant;
    auto found = std::ranges::find(variables_, value);
    if (found != variables_.end()) return at_[static_cast<size_t>(found - variables_.begin())];
    return Combined(value->def());
  }

  /// All values fit into 32 bits, so the result of one more op does not overflow.
  int64_t Combined(const Op* op) const {
    int64_t a = ValueOf(op->operand(0));
    switch (op->kind()) {
      case OpKind::Add:
        return a + ValueOf(op->operand(1));
      case OpKind::Sub:
        return a - ValueOf(op->operand(1));
      case OpKind::Mul:
        return a * ValueOf(op->operand(1));
      case OpKind::Neg:
        return -a;
      default:
        return a;
    }
  }

  IntegerRanges& ranges_;
  const std::function<bool(const Value*)>& is_exact_;
  int visits_ = 0;
  std::vector<const Value*> variables_;
  std::vector<int64_t> at_;  ///< the values of the variables at the current corner
};

}  // namespace

std::optional<Interval> ValuesOf(Scalar scalar) {
  if (scalar == Scalar::Bool) return Interval{0, 1};
  if (!IsInteger(scalar) || Info(scalar).bits > kMostBits) return std::nullopt;
  int bits = Info(scalar).bits;
  if (!IsSigned(scalar)) return Interval{0, (int64_t{1} << bits) - 1};
  return Interval{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

int64_t ShiftedBits(Scalar scalar, int64_t count) { return count & (Info(scalar).bits - 1); }

std::optional<Interval> IntegerRanges::RangeOf(const Value* value) {
  if (auto found = known_.find(value); found != known_.end()) return found->second;
  std::optional<Interval> all = ValuesOf(value->type()->scalar);
  std::optional<Interval> range = all;
  if (all && value->def() && value->def()->results().size() == 1) {
    std::optional<Interval> exact = ExactRangeOf(value->def());
    if (exact && exact->IsWithin(*all)) {
      range = exact;
      exact_.insert(value);
    }
  }
  known_[value] = range;
  return range;
}

std::optional<Interval> IntegerRanges::ExactRangeOf(const Op* op) {
  switch (op->kind()) {
    case OpKind::Const:
      if (auto value = ConstantOf(op->result())) return Interval{*value, *value};
      return std::nullopt;
    case OpKind::Load: {
      auto values = proofs::TableValues(op->result());
      if (!values || values->empty()) return std::nullopt;
      auto [lo, hi] = std::ranges::minmax(*values);
      return Interval{lo, hi};
    }
    case OpKind::Broadcast:
    case OpKind::SlidingWindow:
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

/// Whether the value is a sum, product or copy of other values and does not wrap.
bool IntegerRanges::IsExact(const Value* value) {
  constexpr OpKind kKinds[] = {OpKind::Add, OpKind::Sub,  OpKind::Mul,
                               OpKind::Neg, OpKind::Cast, OpKind::Broadcast};
  const Op* op = value->def();
  return op && std::ranges::find(kKinds, op->kind()) != std::end(kKinds) && RangeOf(value) &&
         exact_.contains(value);
}

/// Returns the exact range of a sum of products whose operands have variables in common. Returns nothing for
/// other ops: the ranges of their operands are independent.
std::optional<Interval> IntegerRanges::AtCorners(const Op* op) {
  if (op->kind() != OpKind::Add && op->kind() != OpKind::Sub) return std::nullopt;
  std::function<bool(const Value*)> is_exact = [&](const Value* value) { return IsExact(value); };
  Corners corners(*this, is_exact);
  auto a = corners.VariablesOf(op->operand(0));
  auto b = a ? corners.VariablesOf(op->operand(1)) : std::nullopt;
  return b && (*a & *b) != 0 ? corners.HullOf(op) : std::nullopt;
}

std::optional<Interval> IntegerRanges::RangeOfBinary(const Op* op) {
  std::optional<Interval> a = RangeOf(op->operand(0));
  std::optional<Interval> b = RangeOf(op->operand(1));
  if (!a || !b) return std::nullopt;
  if (std::optional<Interval> range = AtCorners(op)) return range;
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
    default: {
      if (b->lo != b->hi) return std::nullopt;
      bool is_shift = op->kind() == OpKind::Shl || op->kind() == OpKind::Shr;
      Scalar scalar = op->result()->type()->scalar;
      return WithConstant(op->kind(), *a, is_shift ? ShiftedBits(scalar, b->lo) : b->lo);
    }
  }
}

}  // namespace kdl::passes
