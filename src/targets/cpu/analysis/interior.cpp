#include "targets/cpu/analysis/interior.h"

#include <algorithm>
#include <cstdlib>

#include "ir/builder.h"
#include "ir/comparisons.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "support/is_within.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

namespace {

/// A linear function of the index along the last axis: the sum in a PointCondition, divided by `divisor` and rounded
/// down, plus an unknown number from 0 to `spread`, which is that of remainders.
struct Linear : PointCondition {
  int64_t divisor = 1;
  int64_t spread = 0;
};

/// Returns whether sums of products of such numbers do not overflow. Larger constants are not analyzed.
bool IsSmall(int64_t number) {
  constexpr int64_t kLargest = int64_t{1} << 28;
  return -kLargest <= number && number <= kLargest;
}

bool IsSmall(Size size) { return !IsConstant(size) || IsSmall(size->value); }

void AddSize(Linear& sum, Size size, int64_t factor) {
  if (IsConstant(size)) {
    sum.constant += size->value * factor;
  } else {
    sum.sizes.emplace_back(size, factor);
  }
}

/// Adds `other`, multiplied by the factor. Neither sum is divided, or has a spread.
void AddLinear(PointCondition& sum, const PointCondition& other, int64_t factor) {
  for (const auto& [value, times] : other.terms) {
    auto same = std::ranges::find(sum.terms, value, [](const auto& term) { return term.first; });
    if (same == sum.terms.end()) {
      sum.terms.emplace_back(value, times * factor);
    } else if ((same->second += times * factor) == 0) {
      sum.terms.erase(same);
    }
  }
  for (const auto& [size, times] : other.sizes) sum.sizes.emplace_back(size, times * factor);
  sum.constant += other.constant * factor;
}

/// Returns the condition that `a` is at least `b` whatever the remainders are, or nothing if it has no linear form.
std::optional<PointCondition> AtLeast(const Linear& a, const Linear& b) {
  PointCondition condition;
  condition.constant = -b.spread * a.divisor * b.divisor;
  if (b.divisor == 1) {
    AddLinear(condition, a, 1);
    AddLinear(condition, b, -a.divisor);
  } else if (a.divisor == 1) {
    AddLinear(condition, a, b.divisor);
    AddLinear(condition, b, -1);
    condition.constant += b.divisor - 1;
  } else {
    return std::nullopt;
  }
  return condition;
}

/// Finds the interior of one elementwise loop.
class InteriorFinder {
 public:
  InteriorFinder(ir::Module& module, const Op* elementwise, const LastAxis& last)
      : sizes_(module.types().sizes()),
        elementwise_(elementwise),
        point_(elementwise->region()->params().back()),
        last_(last) {}

  Interior Find() {
    for (const Op* op : *elementwise_->region()) {
      if (ir::IsComparison(op->kind())) VisitComparison(op);
    }
    for (const Op* op : *elementwise_->region()) {
      if (op->kind() == OpKind::Load && !IsUnused(op->result())) VisitLoad(op);
    }
    return std::move(interior_);
  }

 private:
  /// If the load's indices are linear in the interior, adds the conditions for that and, for a load with
  /// `else`, those for the load to be in bounds.
  void VisitLoad(const Op* load) {
    Found found;
    ir::Access access = load->attr<AttrKey::Access>();
    ir::Type tensor = TensorOf(load)->type();
    bool has_else = load->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Else;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      std::optional<Linear> index = IndexOfDim(load, access.dims[d], found);
      if (!index || !IsSmall(tensor->dims[d])) return;
      if (!has_else) continue;
      if (index->spread != 0 && !HasPoint(*index)) return;
      Linear last;
      AddSize(last, tensor->dims[d], 1);
      --last.constant;
      found.conditions.push_back(*AtLeast(*index, {}));
      found.conditions.push_back(*AtLeast(last, *index));
      if (!HasPoint(*index)) found.nonempty.push_back(last);
    }
    if (has_else) interior_.inside.push_back(load);
    Accept(found);
  }

  /// If the comparison has the same result in most of the row, adds the condition for that result. A threshold
  /// that depends on a size is taken to be near the end of the row, and any other one near its start.
  void VisitComparison(const Op* op) {
    if (op->operand(0)->type()->scalar != Scalar::I64) return;
    Found found;
    std::optional<Linear> a = LinearOf(op->operand(0), found);
    std::optional<Linear> b = LinearOf(op->operand(1), found);
    if (!a || !b || HasPoint(*a) == HasPoint(*b) || a->spread + b->spread > 0) return;
    OpKind kind = HasPoint(*a) ? op->kind() : ir::Mirrored(op->kind());
    Linear index = HasPoint(*a) ? *a : *b;
    Linear threshold = HasPoint(*a) ? *b : *a;
    if (index.divisor == 1) MoveToThreshold(index, threshold, kind);
    if (index.terms.size() != 1 || index.terms[0].second < 0 || !IsCloseToAnEnd(threshold)) return;
    bool is_at_end = !threshold.sizes.empty();
    // In the interior, the index is greater than a threshold near the start, and less than one near the end.
    bool excludes = kind == OpKind::Eq || kind == OpKind::Ne ||
                    kind == (is_at_end ? OpKind::Ge : OpKind::Le) ||
                    kind == (is_at_end ? OpKind::Lt : OpKind::Gt);
    if (excludes) threshold.constant += is_at_end ? -1 : 1;
    auto condition = is_at_end ? AtLeast(threshold, index) : AtLeast(index, threshold);
    if (!condition) return;
    bool is_less = kind == OpKind::Lt || kind == OpKind::Le;
    bool is_greater = kind == OpKind::Gt || kind == OpKind::Ge;
    found.conditions.push_back(*condition);
    found.exact = {*a, *b};
    interior_.comparisons.emplace_back(op,
                                       kind == OpKind::Ne || (is_at_end ? is_less : is_greater));
    Accept(found);
  }

  /// Leaves only a positive multiple of the index along the last axis in `index`.
  void MoveToThreshold(Linear& index, Linear& threshold, OpKind& kind) const {
    if (threshold.divisor != 1) return;
    auto point =
        std::ranges::find(index.terms, point_, [](const auto& term) { return term.first; });
    Linear left;
    left.terms = {*point};
    AddLinear(threshold, index, -1);
    AddLinear(threshold, left, 1);
    index = left;
    if (left.terms[0].second > 0) return;
    Linear negative;
    AddLinear(negative, threshold, -1);
    threshold = negative;
    index.terms[0].second = -index.terms[0].second;
    kind = ir::Mirrored(kind);
  }

  /// Whether the threshold is a small number, or a size plus one.
  static bool IsCloseToAnEnd(const Linear& threshold) {
    constexpr int64_t kMost = 64;
    bool is_small = -kMost <= threshold.constant && threshold.constant <= kMost;
    bool is_size =
        threshold.sizes.empty() || (threshold.sizes.size() == 1 && threshold.sizes[0].second == 1 &&
                                    threshold.sizes[0].first->kind == SizeKind::Symbol);
    return threshold.divisor == 1 && threshold.terms.empty() && is_small && is_size;
  }

  /// Returns whether all uses are selects that take their other operand in the interior.
  bool IsUnused(const Value* value) const {
    return std::ranges::all_of(value->uses(), [&](const auto& use) {
      if (use.user->kind() != OpKind::Select) return false;
      const Op* condition = use.user->operand(ir::SelectOp::at_condition)->def();
      auto known = std::ranges::find(interior_.comparisons, condition,
                                     [](const auto& comparison) { return comparison.first; });
      return known != interior_.comparisons.end() &&
             use.operand == (known->second ? ir::SelectOp::at_b : ir::SelectOp::at_a);
    });
  }

  /// What must be true, and may be simplified, for one access or comparison to be linear.
  struct Found {
    std::vector<PointCondition> conditions;
    std::vector<PointCondition> nonempty;
    std::vector<PointCondition> exact;
    std::vector<std::pair<const Op*, size_t>> clamps;
  };

  std::optional<Linear> IndexOfDim(const Op* load, const ir::AccessDim& dim, Found& found) const {
    if (!IsSmall(dim.offset)) return std::nullopt;
    Linear index;
    AddSize(index, dim.offset, 1);
    for (const ir::AccessTerm& term : dim.terms) {
      if (!IsConstant(term.coefficient) || !IsSmall(term.coefficient)) return std::nullopt;
      std::optional<Linear> part = LinearOf(passes::IndexOf(load)[term.operand], found);
      std::optional<Linear> sum = part ? Sum(index, *part, term.coefficient->value) : std::nullopt;
      if (!sum) return std::nullopt;
      index = *sum;
    }
    return index;
  }

  /// Returns the value as a linear function, or nothing if it is not linear.
  std::optional<Linear> LinearOf(const Value* value, Found& found) const {
    if (auto constant = ConstantOf(value)) {
      if (!IsSmall(*constant)) return std::nullopt;
      Linear number;
      number.constant = *constant;
      return number;
    }
    if (IsKnownInRow(value)) return KnownInRow(value);
    const Op* op = value->def();
    if (op->parent_region() != elementwise_->region() || op->operands().size() != 2)
      return std::nullopt;
    if (op->kind() == OpKind::Rem) return Remainder(op);
    std::optional<Linear> a = LinearOf(op->operand(0), found);
    std::optional<Linear> b = LinearOf(op->operand(1), found);
    if (!a || !b || value->type()->scalar != Scalar::I64) return std::nullopt;
    switch (op->kind()) {
      case OpKind::Add:
        return Sum(*a, *b, 1);
      case OpKind::Sub:
        return Sum(*a, *b, -1);
      case OpKind::Mul:
        return ConstantOf(op->operand(0)) ? Multiple(*b, *a) : Multiple(*a, *b);
      case OpKind::Div:
        return Quotient(*a, op->operand(1));
      case OpKind::Min:
      case OpKind::Max:
        return Clamped(op, *a, *b, found);
      default:
        return std::nullopt;
    }
  }

  /// Returns a value that is the same for the whole row, or the index along the last axis.
  Linear KnownInRow(const Value* value) const {
    Linear known;
    if (Size size = SizeOf(value)) {
      AddSize(known, size, 1);
      return known;
    }
    const Op* def = value->def();
    bool is_difference = def && def->kind() == OpKind::Sub && SizeOf(def->operand(0));
    std::optional<int64_t> number = is_difference ? ConstantOf(def->operand(1)) : std::nullopt;
    if (number && IsSmall(*number)) {
      AddSize(known, SizeOf(def->operand(0)), 1);
      known.constant -= *number;
    } else {
      known.terms.emplace_back(value, 1);
    }
    return known;
  }

  /// Returns the size of a dimension if the value is one, and otherwise null.
  Size SizeOf(const Value* value) const {
    const auto& dims = elementwise_->region()->function()->dims;
    const ir::Region* region = value->def() ? nullptr : value->parent_region();
    bool is_size = region && !region->parent() && value->index() < dims.size();
    return is_size ? sizes_.Symbol(dims[value->index()]) : Size();
  }

  /// Returns the sum of `a` and `b`, multiplied by the factor, or nothing if it has no linear form.
  std::optional<Linear> Sum(const Linear& a, const Linear& b, int64_t factor) const {
    if (b.divisor != 1) {
      bool fits = a.divisor == 1 && factor == 1;
      return fits ? Sum(b, a, 1) : std::nullopt;
    }
    if (!IsBounded(b, a.divisor)) return std::nullopt;
    Linear sum = a;
    AddLinear(sum, b, factor * a.divisor);
    int64_t spread = factor * b.spread;
    sum.constant += std::min<int64_t>(spread, 0) * a.divisor;
    sum.spread += std::abs(spread);
    return sum;
  }

  /// Returns the remainder of a division by a small constant, which may have any of its values.
  static std::optional<Linear> Remainder(const Op* op) {
    int64_t divisor = ConstantOf(op->operand(1)).value_or(0);
    if (op->result()->type()->scalar != Scalar::I64 || divisor <= 0 || divisor > kMostDivisor)
      return std::nullopt;
    Linear remainder;
    remainder.spread = divisor - 1;
    return remainder;
  }

  /// Returns a remainder multiplied by a small number.
  std::optional<Linear> Multiple(const Linear& remainder, const Linear& number) const {
    bool is_remainder = remainder.terms.empty() && remainder.sizes.empty();
    bool is_number = number.terms.empty() && number.sizes.empty() && number.spread == 0;
    bool fits = is_remainder && is_number && remainder.divisor == 1 && number.divisor == 1 &&
                IsWithin(number.constant, kMostDivisor) &&
                remainder.spread <= kMostDivisor * kMostDivisor && IsSmall(remainder.constant);
    return fits ? Sum({}, remainder, number.constant) : std::nullopt;
  }

  /// Returns the quotient of `a` and the divisor, rounded down, unless that is 0 or large.
  static std::optional<Linear> Quotient(Linear a, const Value* divisor) {
    int64_t number = ConstantOf(divisor).value_or(0);
    if (a.divisor != 1 || a.spread != 0 || number <= 0 || number > kMostDivisor)
      return std::nullopt;
    a.divisor = number;
    return a;
  }

  /// Returns the operand of a minimum or maximum that varies in the row, on the condition that it is the
  /// result.
  std::optional<Linear> Clamped(const Op* op, const Linear& a, const Linear& b,
                                Found& found) const {
    if (HasPoint(a) == HasPoint(b)) return std::nullopt;
    if ((HasPoint(a) ? b : a).spread != 0) return std::nullopt;
    const Linear& varying = HasPoint(a) ? a : b;
    const Linear& limit = HasPoint(a) ? b : a;
    auto condition = op->kind() == OpKind::Max ? AtLeast(varying, limit) : AtLeast(limit, varying);
    if (!condition || !IsBounded(limit, varying.divisor) || !IsBounded(varying, limit.divisor))
      return std::nullopt;
    found.conditions.push_back(*condition);
    found.exact.insert(found.exact.end(), {a, b});
    found.clamps.emplace_back(op, HasPoint(a) ? 0 : 1);
    return varying;
  }

  /// Whether the sum can be multiplied by the factor without overflow, because its terms are indices.
  bool IsBounded(const Linear& sum, int64_t factor) const {
    return factor == 1 || std::ranges::all_of(sum.terms, [&](const auto& term) {
             return Contains(elementwise_->region()->params(), term.first);
           });
  }

  bool HasPoint(const PointCondition& sum) const {
    return std::ranges::any_of(sum.terms, [&](const auto& term) { return term.first == point_; });
  }

  /// Whether the value is the index along the last axis, or can be computed once for a row.
  bool IsKnownInRow(const Value* value) const {
    const Op* def = value->def();
    if (value == point_ || !def || !IsInside(def, elementwise_)) return true;
    return def->parent_region() == elementwise_->region() && last_.IsInvariant(def);
  }

  void Accept(const Found& found) {
    for (const auto& clamp : found.clamps) {
      if (!Contains(interior_.clamps, clamp)) interior_.clamps.push_back(clamp);
    }
    for (const PointCondition& condition : found.conditions)
      Add(HasPoint(condition) ? interior_.conditions : interior_.row_conditions, condition);
    for (const PointCondition& condition : found.nonempty) Add(interior_.nonempty, condition);
    for (const PointCondition& sum : found.exact) {
      if (MayWrap(sum) && !Contains(interior_.exact, sum)) interior_.exact.push_back(sum);
    }
  }

  /// Whether the sum contains values other than indices of the loop, which the program may have computed.
  bool MayWrap(const PointCondition& sum) const {
    return std::ranges::any_of(sum.terms, [&](const auto& term) {
      return !Contains(elementwise_->region()->params(), term.first);
    });
  }

  /// Adds a condition. Of conditions that differ only in the constant, keeps the strictest.
  static void Add(std::vector<PointCondition>& conditions, const PointCondition& condition) {
    if (condition.terms.empty() && condition.sizes.empty() && condition.constant >= 0) return;
    for (PointCondition& other : conditions) {
      if (other.terms != condition.terms || other.sizes != condition.sizes) continue;
      other.constant = std::min(other.constant, condition.constant);
      return;
    }
    conditions.push_back(condition);
  }

  static constexpr int64_t kMostDivisor = 64;

  SizeTable& sizes_;
  const Op* elementwise_;
  const Value* point_;
  const LastAxis& last_;
  Interior interior_;
};

/// Whether the points of the loop may run in any order. They may not if an op traps, because the first trap
/// must stay the same, or if several points may update the same element. Reductions keep their order by themselves.
bool MayReorder(const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (MayTrap(op) || op->kind() == OpKind::Update) return false;
  }
  return true;
}

/// Finds the accesses because of which the loop runs element by element, although they can be vectors.
void FindSteps(const Op* elementwise, const LastAxis& last, Interior& interior) {
  if (last.Vectorizes()) return;
  for (const Op* op : *elementwise->region()) {
    bool is_access = op->kind() == OpKind::Load || op->kind() == OpKind::Store;
    if (is_access && WalksShortRows(op, elementwise)) interior.in_short_rows.push_back(op);
  }
  interior.has_steps = !interior.in_short_rows.empty() || LastAxis(elementwise, true).Vectorizes();
}

}  // namespace

bool ReadsWhatItWrites(const Op* elementwise) {
  std::vector<const Value*> read;
  bool reads_tiles = false;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Load) read.push_back(ir::MemoryOf(TensorOf(op)));
    reads_tiles |= op->kind() == OpKind::Element;
  }
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Store && Contains(read, ir::MemoryOf(TensorOf(op)))) return true;
  }
  return reads_tiles && !elementwise->results().empty();
}

std::optional<Margins> MarginsOf(const Interior& interior, const Value* point, Size domain) {
  Margins margins;
  Linear end;
  AddSize(end, domain, 1);
  for (const PointCondition& condition : interior.conditions) {
    if (condition.terms.size() != 1 || condition.terms[0].first != point) return std::nullopt;
    int64_t factor = condition.terms[0].second;
    if (factor == 1 && condition.sizes.empty()) {
      margins.left = std::max(margins.left, -condition.constant);
    } else if (factor == -1 && condition.sizes == end.sizes) {
      margins.right = std::max(margins.right, end.constant - 1 - condition.constant);
    } else {
      return std::nullopt;
    }
  }
  return margins;
}

bool HasSlowMasks(const Op* elementwise, const ProcessorFacts& facts) {
  for (const Op* op : *elementwise->region()) {
    if (!op->HasAttr(AttrKey::BoundsMode)) continue;
    if (Bytes(TensorOf(op)->type()->scalar) < facts.least_masked_bytes) return true;
  }
  return false;
}

std::optional<Interior> InteriorOf(ir::Module& module, const Op* elementwise, const LastAxis& last,
                                   const ProcessorFacts& facts) {
  if (!MayReorder(elementwise)) return std::nullopt;
  Interior interior = InteriorFinder(module, elementwise, last).Find();
  FindSteps(elementwise, last, interior);
  bool is_simpler = !interior.inside.empty() || !interior.clamps.empty() ||
                    !interior.comparisons.empty() || interior.has_steps;
  if (!is_simpler && !HasSlowMasks(elementwise, facts)) return std::nullopt;
  interior.is_repeatable = !ReadsWhatItWrites(elementwise);
  return interior;
}

}  // namespace kdl::cpu
