#include "codegen/llvm/optimize/finite_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/op_info.h"

// Finds `to_bits` ops whose operand is finite wherever the result matters. For example, exp ends in
//
//   %p = …a polynomial in %x…
//   %scaled = from_bits (select (lt %x, -87.3), 0, to_bits %p + …)
//   %y = select (not (le %x, 88.7)), %above, %scaled
//
// The bits only matter for -87.3 <= %x <= 88.7, where interval arithmetic shows that %p is finite.

namespace kdl::codegen {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// An interval of finite numbers.
struct Range {
  double lo;
  double hi;
};

/// What comparisons prove about a number.
struct Bounds {
  double lo = -kInfinity;
  double hi = kInfinity;
  bool is_number = false;  ///< whether a comparison was true, so that the number is not NaN
};

std::optional<double> FloatConstant(const ir::Value* value) {
  const Op* def = value->def();
  if (def && def->kind() == OpKind::Splat) return FloatConstant(def->operand(0));
  if (!def || def->kind() != OpKind::Const) return std::nullopt;
  uint64_t bits = def->attr<AttrKey::Bits>();
  switch (value->type()->scalar) {
    case Scalar::F32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Scalar::F64:
      return std::bit_cast<double>(bits);
    default:
      return std::nullopt;
  }
}

class Finiteness {
 public:
  explicit Finiteness(const Op* to_bits) : operand_(to_bits->operand(0)) {
    Collect(to_bits->result());
  }

  bool Holds() { return KnownRange(operand_).has_value(); }

 private:
  /// Follows a value to its user, as long as each value has only one user. If such a user is a select that
  /// chooses its other operand, the value does not matter.
  void Collect(const ir::Value* value) {
    while (value->uses().size() == 1) {
      const ir::Use& use = value->uses()[0];
      const Op* user = use.user;
      if (!user->info().has(ir::kElementwise) || user->results().size() != 1) return;
      if (user->kind() == OpKind::Select) Learn(user->operand(0)->def(), use.operand);
      value = user->result();
    }
  }

  /// Learns bounds from the condition of a select. If the select takes operand 1, the condition is true. If
  /// it takes operand 2, the condition is false, perhaps because of a NaN.
  void Learn(const Op* condition, uint32_t taken) {
    if (taken == 0 || !condition) return;
    bool holds = taken == 1;
    if (condition->kind() == OpKind::Not) return Learn(condition->operand(0)->def(), holds ? 2 : 1);
    if (condition->operands().size() != 2) return;
    std::optional<double> limit = FloatConstant(condition->operand(1));
    if (!limit) return;
    bool less = condition->kind() == OpKind::Lt || condition->kind() == OpKind::Le;
    bool more = condition->kind() == OpKind::Gt || condition->kind() == OpKind::Ge;
    if (!less && !more) return;
    Bounds& bounds = bounds_[condition->operand(0)];
    bounds.is_number |= holds;
    if (less == holds) {
      bounds.hi = std::min(bounds.hi, *limit);
    } else {
      bounds.lo = std::max(bounds.lo, *limit);
    }
  }

  std::optional<Range> KnownRange(const ir::Value* value) {
    auto [known, is_new] = ranges_.try_emplace(value, std::nullopt);
    if (!is_new) return known->second;
    std::optional<Range> range = Derive(value);
    if (range) range = Rounded(*range, value->type()->scalar);
    return ranges_[value] = range;
  }

  std::optional<Range> Derive(const ir::Value* value) {
    if (auto found = bounds_.find(value); found != bounds_.end()) {
      const Bounds& bounds = found->second;
      if (bounds.is_number && std::isfinite(bounds.lo) && std::isfinite(bounds.hi))
        return Range{bounds.lo, bounds.hi};
    }
    if (std::optional<double> constant = FloatConstant(value)) return Range{*constant, *constant};
    const Op* def = value->def();
    if (!def) return std::nullopt;
    std::vector<Range> operands;
    for (const ir::Value* operand : def->operands()) {
      std::optional<Range> range = KnownRange(operand);
      if (!range) return std::nullopt;
      operands.push_back(*range);
    }
    switch (def->kind()) {
      case OpKind::Neg:
        return Negated(operands[0]);
      case OpKind::Add:
        return Sum(operands[0], operands[1]);
      case OpKind::Sub:
        return Sum(operands[0], Negated(operands[1]));
      case OpKind::Mul:
        return Product(operands[0], operands[1]);
      case OpKind::Fma:
        return Sum(Product(operands[0], operands[1]), operands[2]);
      default:
        return std::nullopt;
    }
  }

  static Range Negated(const Range& a) { return {-a.hi, -a.lo}; }

  static Range Sum(const Range& a, const Range& b) { return {a.lo + b.lo, a.hi + b.hi}; }

  static Range Product(const Range& a, const Range& b) {
    auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
    return {lo, hi};
  }

  /// Widens the range to allow for the rounding of the op and of this computation. Returns nullopt if the
  /// result may overflow.
  static std::optional<Range> Rounded(const Range& range, Scalar scalar) {
    constexpr double kRoom = 0x1p-20;  // relative and absolute; far above half an ulp of f32
    double largest = scalar == Scalar::F32 ? double{std::numeric_limits<float>::max()}
                                           : std::numeric_limits<double>::max();
    double lo = range.lo - std::abs(range.lo) * kRoom - kRoom;
    double hi = range.hi + std::abs(range.hi) * kRoom + kRoom;
    bool fits = lo > -largest / 2 && hi < largest / 2;  // false for NaN
    return fits ? std::optional(Range{lo, hi}) : std::nullopt;
  }

  const ir::Value* operand_;
  std::unordered_map<const ir::Value*, Bounds> bounds_;
  std::unordered_map<const ir::Value*, std::optional<Range>> ranges_;
};

/// Returns a constant number with the bits of the value, an integer.
std::optional<double> NumberWithBits(const ir::Value* value) {
  const Op* def = value->def();
  if (!def || def->kind() == OpKind::Splat)
    return def ? NumberWithBits(def->operand(0)) : std::nullopt;
  if (def->kind() != OpKind::Const) return std::nullopt;
  auto bits = static_cast<uint64_t>(def->attr<AttrKey::Bits>());
  return Bytes(value->type()->scalar) == 4 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                                           : std::bit_cast<double>(bits);
}

/// Whether the bits are only compared with those of numbers, which no NaN has.
bool ComparesWithNumbers(const Op* to_bits) {
  return std::ranges::all_of(to_bits->result()->uses(), [](const ir::Use& use) {
    bool compares = use.user->kind() == OpKind::Eq || use.user->kind() == OpKind::Ne;
    std::optional<double> number =
        compares ? NumberWithBits(use.user->operand(1 - use.operand)) : std::nullopt;
    return number && !std::isnan(*number);
  });
}

}  // namespace

bool CountsOnlyFinite(const Op* to_bits) {
  return ComparesWithNumbers(to_bits) || Finiteness(to_bits).Holds();
}

}  // namespace kdl::codegen
