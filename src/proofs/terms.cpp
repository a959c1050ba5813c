#include "proofs/terms.h"

#include <algorithm>
#include <utility>

#include "ir/comparisons.h"
#include "ir/lookup.h"
#include "ir/views.h"
#include "proofs/made_values.h"

namespace kdl::proofs {

namespace {

using ir::CompareKind;

constexpr int kMostChoices = 8;  ///< the maximum nesting depth of choices

/// Returns the range of a type, for bools and integers with fewer than 64 bits.
std::optional<std::pair<int64_t, int64_t>> TypeRange(Scalar scalar) {
  if (scalar == Scalar::Bool) return std::pair<int64_t, int64_t>{0, 1};
  if (!IsInteger(scalar)) return std::nullopt;
  int bits = Info(scalar).bits;
  if (bits == 64) return std::nullopt;
  if (IsSigned(scalar))
    return std::pair<int64_t, int64_t>{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return std::pair<int64_t, int64_t>{0, (int64_t{1} << bits) - 1};
}

/// Returns the part of a quotient that is known exactly: the terms that are multiples of the positive divisor
/// and, if the divisor is a constant, the quotient of the constants.
Poly WholeQuotient(const Poly& dividend, const Poly& by) {
  Poly whole;
  if (by.terms().size() != 1) return whole;
  const auto& [factor, divisor] = *by.terms().begin();
  for (const auto& [monomial, coefficient] : dividend.terms()) {
    bool are_numbers = monomial.empty() && factor.empty();
    bool divides = are_numbers || coefficient % divisor == 0;
    if (!divides || !std::ranges::includes(monomial, factor)) continue;
    Monomial left;
    std::ranges::set_difference(monomial, factor, std::back_inserter(left));
    whole += Poly::Term(left, FloorDivide(coefficient, divisor));
  }
  return whole;
}

}  // namespace

namespace {

constexpr std::pair<OpKind, CompareKind> kComparisons[] = {
    {OpKind::Eq, CompareKind::Eq}, {OpKind::Ne, CompareKind::Ne}, {OpKind::Lt, CompareKind::Lt},
    {OpKind::Le, CompareKind::Le}, {OpKind::Gt, CompareKind::Gt}, {OpKind::Ge, CompareKind::Ge}};

}  // namespace

CompareKind Negated(CompareKind kind) {
  const auto* row = std::ranges::find(kComparisons, kind, &std::pair<OpKind, CompareKind>::second);
  return *ComparisonOf(ir::Negated(row->first));
}

std::optional<CompareKind> ComparisonOf(OpKind kind) {
  for (const auto& [op, comparison] : kComparisons) {
    if (op == kind) return comparison;
  }
  return std::nullopt;
}

AtomId Terms::Intern(AtomFacts facts) {
  const void* what = facts.value ? static_cast<const void*>(facts.value)
                                 : static_cast<const void*>(facts.symbol.text().data());
  Key key{facts.kind, what, facts.a, facts.b};
  auto [slot, is_new] = index_.try_emplace(std::move(key), static_cast<AtomId>(atoms_.size()));
  if (is_new) {
    facts.choices =
        std::max(ChoicesIn(facts.a), ChoicesIn(facts.b)) + (facts.kind == AtomKind::Choice ? 1 : 0);
    atoms_.push_back(std::move(facts));
  }
  return slot->second;
}

bool Terms::IsNonNegative(const Poly& poly) const {
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (coefficient < 0) return false;
    for (AtomId atom : monomial) {
      const auto& lower = atoms_[atom].lower;
      bool known = std::any_of(lower.begin(), lower.end(), [](const AtomBound& b) {
        return b.scale.AsConstant() && b.bound.AsConstant().value_or(-1) >= 0;
      });
      if (!known) return false;
    }
  }
  return poly.exact();
}

bool Terms::IsPositive(const Poly& poly) const {
  if (std::optional<int64_t> number = poly.AsConstant()) return *number > 0;
  std::optional<AtomId> atom = poly.Greatest();
  if (!poly.exact() || !atom || poly != Poly::Atom(*atom)) return false;
  const AtomFacts& facts = atoms_[*atom];
  if (facts.kind == AtomKind::Min) return IsPositive(facts.a) && IsPositive(facts.b);
  if (facts.kind == AtomKind::Max) return IsPositive(facts.a) || IsPositive(facts.b);
  return std::ranges::any_of(facts.lower, [](const AtomBound& bound) {
    return bound.scale == Poly(1) && bound.bound.AsConstant().value_or(0) > 0;
  });
}

Poly Terms::PolyOfSize(Size size, By by) {
  auto term = [&](Size part) { return PolyOfSize(part, by); };
  // A number that is known only modulo 2^64 can be neither divided nor compared.
  auto number = [&](Size part) {
    Poly poly = term(part);
    return by == By::Launch || wraps_.IsBounded(part) ? poly : Wrapped(std::move(poly));
  };
  switch (size->kind) {
    case SizeKind::Constant:
      return size->value;
    case SizeKind::Add:
      return term(size->lhs) + term(size->rhs);
    case SizeKind::Sub:
      return term(size->lhs) - term(size->rhs);
    case SizeKind::Mul:
      return term(size->lhs) * term(size->rhs);
    case SizeKind::FloorDiv:
      return PolyOfQuotient(number(size->lhs), number(size->rhs));
    case SizeKind::Mod: {
      Poly a = number(size->lhs);
      Poly b = number(size->rhs);
      return a - b * PolyOfQuotient(a, b);
    }
    case SizeKind::Min:
      return PolyOfExtreme(AtomKind::Min, number(size->lhs), number(size->rhs));
    case SizeKind::Symbol:
      return PolyOfSymbol(size->symbol);
  }
  return {};
}

Poly Terms::PolyOfSymbol(Name symbol) {
  if (auto known = known_.find(symbol); known != known_.end()) return known->second;
  if (symbol.text() == ir::kCoreNum) return Poly::Atom(CoreNumAtom());
  AtomFacts facts{AtomKind::Size, symbol};
  int64_t least = 0;
  for (const ir::Generic& generic : function_.generics) {
    if (generic.name != symbol) continue;
    const auto& from = generic.values.empty() ? generic.choices : generic.values;
    if (!from.empty()) {
      least = *std::min_element(from.begin(), from.end());
      facts.upper.push_back({1, *std::max_element(from.begin(), from.end())});
    } else {
      least = generic.is_auto ? 1 : INT64_MIN;
    }
  }
  if (least != INT64_MIN) facts.lower.push_back({1, least});
  return Poly::Atom(Intern(std::move(facts)));
}

AtomId Terms::StartAtom(const Value* block) {
  LoopEnds bounds = *LoopEndsOf(block);
  AtomFacts facts{AtomKind::Start, {}, block};
  facts.lower.push_back({1, PolyOfValue(bounds.lo)});
  facts.upper.push_back({1, PolyOfValue(bounds.hi) - 1});
  return Intern(std::move(facts));
}

AtomId Terms::CountAtom(const Value* block) {
  Poly start = Poly::Atom(StartAtom(block));
  AtomFacts facts{AtomKind::Count, {}, block};
  facts.lower.push_back({1, 1});
  facts.upper.push_back({1, PolyOfSize(function_.axis(block->type()->axes[0]).extent)});
  facts.upper.push_back({1, PolyOfValue(LoopEndsOf(block)->hi) - start});
  return Intern(std::move(facts));
}

AtomId Terms::NumberAtom(const Value* block) {
  Poly walked = Poly::Atom(StartAtom(block)) - PolyOfValue(LoopEndsOf(block)->lo);
  AtomFacts facts{AtomKind::Number, {}, block};
  facts.lower.push_back({1, 0});
  facts.upper.push_back({1, walked});
  auto extent = PolyOfSize(function_.axis(block->type()->axes[0]).extent).AsConstant();
  if (extent && *extent > 1) {
    facts.lower.push_back({*extent, walked});
    facts.upper.push_back({*extent, walked});
  }
  return Intern(std::move(facts));
}

AtomId Terms::ElementAtom(const Value* block) {
  AtomFacts facts{AtomKind::Element, {}, block};
  if (auto made = ir::DynAs<ir::MakeBlockOp>(block->def())) {
    Poly start = PolyOfValue(made->start());
    facts.lower.push_back({1, start});
    facts.upper.push_back({1, start + PolyOfValue(made->size()) - 1});
  } else {
    LoopEnds bounds = *LoopEndsOf(block);
    Poly start = Poly::Atom(StartAtom(block));
    Poly count = Poly::Atom(CountAtom(block));
    facts.lower = {{1, PolyOfValue(bounds.lo)}, {1, start}};
    facts.upper = {{1, PolyOfValue(bounds.hi) - 1}, {1, start + count - 1}};
  }
  return Intern(std::move(facts));
}

AtomId Terms::ScalarAtom(const Value* value) {
  AtomFacts facts{AtomKind::Scalar, {}, numbers_.FirstEqual(value)};
  if (auto range = TypeRange(value->type()->scalar)) {
    facts.lower.push_back({1, range->first});
    facts.upper.push_back({1, range->second});
  }
  if (std::optional<std::vector<int64_t>> values = TableValues(value)) {
    facts.lower.push_back({1, *std::ranges::min_element(*values)});
    facts.upper.push_back({1, *std::ranges::max_element(*values)});
  }
  if (std::optional<LoopEnds> bounds = LoopEndsOf(value)) {
    facts.lower.push_back({1, PolyOfValue(bounds->lo)});
    facts.upper.push_back({1, PolyOfValue(bounds->hi) - 1});
  }
  return Intern(std::move(facts));
}

AtomId Terms::CoreNumAtom() {
  AtomFacts facts{AtomKind::CoreNum};
  facts.lower.push_back({1, 1});
  return Intern(std::move(facts));
}

AtomId Terms::CoreIdAtom() {
  AtomFacts facts{AtomKind::CoreId};
  facts.upper.push_back({1, Poly::Atom(CoreNumAtom()) - 1});
  facts.lower.push_back({1, 0});
  return Intern(std::move(facts));
}

/// Returns whether constants or the bounds of a single atom show that 0 <= a < end.
bool Terms::IsBetween(const Poly& a, const Poly& end) const {
  if (a == Poly(0)) return true;
  if (a.AsConstant() && end.AsConstant())
    return *a.AsConstant() >= 0 && *a.AsConstant() < *end.AsConstant();
  std::optional<AtomId> atom = a.Greatest();
  if (!atom || a != Poly::Atom(*atom) || !IsNonNegative(a)) return false;
  return std::ranges::any_of(atoms_[*atom].upper, [&](const AtomBound& bound) {
    return bound.scale == Poly(1) && IsNonNegative(end - bound.bound - 1);
  });
}

/// Moves multiples of a positive divisor, which may be a size, out of the quotient: floor((8 * i + j) / 8) =
/// i + floor(j / 8).
Poly Terms::PolyOfQuotient(const Poly& dividend, const Poly& b) {
  // The result must be inexact, so that it is not equal to any other polynomial.
  if (!dividend.exact() || !b.exact()) return dividend + b;
  std::optional<int64_t> divisor = b.AsConstant();
  // A divisor that cannot be negative is at least 1 wherever the quotient is computed: code traps on 0, and a
  // launch whose sizes divide by 0 is refused.
  bool positive = divisor ? *divisor > 0 : IsNonNegative(b);
  Poly whole = positive ? WholeQuotient(dividend, b) : Poly();
  Poly a = dividend - whole * b;
  if (positive && IsBetween(a, b)) return whole;
  AtomFacts facts{AtomKind::Quotient, {}, nullptr, a, b};
  if (positive) {
    facts.lower.push_back({b, a - b + 1});
    facts.upper.push_back({b, a});
  }
  if (positive && IsNonNegative(a)) {
    facts.lower.push_back({1, 0});
    facts.upper.push_back({1, a});
  }
  return whole + Poly::Atom(Intern(std::move(facts)));
}

Poly Terms::PolyOfExtreme(AtomKind kind, const Poly& a, const Poly& b) {
  if (!a.exact() || !b.exact()) return a + b;
  if (a == b) return a;
  std::optional<int64_t> first = a.AsConstant();
  std::optional<int64_t> second = b.AsConstant();
  if (first && second)
    return kind == AtomKind::Min ? std::min(*first, *second) : std::max(*first, *second);
  AtomFacts facts{kind, {}, nullptr, a, b};
  auto& bounds = kind == AtomKind::Min ? facts.upper : facts.lower;
  bounds = {{1, a}, {1, b}};
  return Poly::Atom(Intern(std::move(facts)));
}

Poly Terms::PolyOfChoice(const Value* value, const Value* a, const Value* b) {
  const Value* condition = value->def()->operand(0);
  if (std::optional<uint64_t> taken = ConstantBits(condition, known_))
    return PolyOfValue(*taken != 0 ? a : b);
  Poly then = PolyOfValue(a);
  Poly otherwise = PolyOfValue(b);
  if (then == otherwise) return then;
  if (std::max(ChoicesIn(then), ChoicesIn(otherwise)) >= kMostChoices)
    return Poly::Atom(ScalarAtom(value));
  return Poly::Atom(Intern({AtomKind::Choice,
                            {},
                            numbers_.FirstEqual(condition),
                            std::move(then),
                            std::move(otherwise)}));
}

int Terms::ChoicesIn(const Poly& poly) const {
  int most = 0;
  for (const auto& [monomial, coefficient] : poly.terms()) {
    for (AtomId atom : monomial) most = std::max(most, atoms_[atom].choices);
  }
  return most;
}

Poly Terms::PolyOfValue(const Value* value) {
  Poly poly = Modulo(value);
  if (!poly.exact()) return Poly::Atom(ScalarAtom(value));
  return wraps_.MayWrap(value) ? Wrapped(std::move(poly)) : poly;
}

Poly Terms::Wrapped(Poly poly) {
  if (!poly.exact()) return poly;
  AtomFacts facts{AtomKind::Wrapped, {}, nullptr, std::move(poly)};
  return Poly::Atom(Intern(std::move(facts)));
}

Poly Terms::Modulo(const Value* value) {
  auto known = modulo_.find(value);
  if (known != modulo_.end()) return known->second;
  Poly poly = Computed(value);
  return modulo_[value] = std::move(poly);
}

Poly Terms::Computed(const Value* value) {
  if (value->parent_region() == function_.body && value->index() < function_.dims.size())
    return PolyOfSize(types_.sizes().Symbol(function_.dims[value->index()]));
  return value->def() ? PolyOfResult(value) : Poly::Atom(ScalarAtom(value));
}

Poly Terms::PolyOfResult(const Value* value) {
  const Op* def = value->def();
  auto operand = [&](size_t i) { return PolyOfValue(def->operand(i)); };
  auto modulo = [&](size_t i) { return Modulo(def->operand(i)); };
  if (def->kind() == OpKind::Const && IsInteger(value->type()->scalar)) return *ConstantOf(value);
  if (value->type()->scalar != Scalar::I64) return Poly::Atom(ScalarAtom(value));
  switch (def->kind()) {
    case OpKind::SizeOf:
      return PolyOfSize(def->attr<AttrKey::Size>(), By::Cores);
    case OpKind::CoreId:
      return Poly::Atom(CoreIdAtom());
    case OpKind::CoreNum:
      return Poly::Atom(CoreNumAtom());
    case OpKind::Add:
      return modulo(0) + modulo(1);
    case OpKind::Sub:
      return modulo(0) - modulo(1);
    case OpKind::Mul:
      return modulo(0) * modulo(1);
    case OpKind::Neg:
      return Poly(-1) * modulo(0);
    case OpKind::Div:
      return PolyOfQuotient(operand(0), operand(1));
    case OpKind::Rem: {
      Poly a = operand(0);
      Poly b = operand(1);
      return a - b * PolyOfQuotient(a, b);
    }
    case OpKind::Min:
      return PolyOfExtreme(AtomKind::Min, operand(0), operand(1));
    case OpKind::Max:
      return PolyOfExtreme(AtomKind::Max, operand(0), operand(1));
    case OpKind::Select:
      if (std::optional<Poly> iterations = IterationsOfSteps(def)) return *iterations;
      return PolyOfChoice(value, def->operand(1), def->operand(2));
    case OpKind::If: {
      auto given = [&](size_t r) { return def->region(r)->terminator()->operand(value->index()); };
      return PolyOfChoice(value, given(0), given(1));
    }
    case OpKind::Broadcast:
    case OpKind::Snapshot:
      return modulo(0);
    case OpKind::Cast: {
      Scalar from = def->operand(0)->type()->scalar;
      bool same = IsInteger(from) && (from == Scalar::I64 || TypeRange(from));
      return same ? modulo(0) : Poly::Atom(ScalarAtom(value));
    }
    case OpKind::Iota:
      return Poly::Atom(ElementAtom(def->operand(0)));
    case OpKind::BlockStart:
    case OpKind::BlockSize:
    case OpKind::BlockIndex:
      return PolyOfFact(def->kind(), def->operand(0));
    default:
      return Poly::Atom(ScalarAtom(value));
  }
}

Poly Terms::PolyOfFact(OpKind fact, const Value* block) {
  auto made = ir::DynAs<ir::MakeBlockOp>(block->def());
  if (fact == OpKind::BlockStart)
    return made ? PolyOfValue(made->start()) : Poly::Atom(StartAtom(block));
  if (fact == OpKind::BlockSize)
    return made ? PolyOfValue(made->size()) : Poly::Atom(CountAtom(block));
  return made ? PolyOfValue(made->index()) : Poly::Atom(NumberAtom(block));
}

/// Returns the number of iterations that the ops compute. The step must be known to be positive, because the
/// ops need not belong to a loop, and a negative step would become a large u64.
std::optional<Poly> Terms::IterationsOfSteps(const Op* select) {
  std::optional<Steps> steps = MatchSteps(select);
  bool known = steps && wraps_.IsBounded(steps->lo) && wraps_.IsBounded(steps->hi) &&
               wraps_.IsBounded(steps->step) && IsPositive(PolyOfValue(steps->step));
  if (!known) return std::nullopt;
  Poly last =
      PolyOfQuotient(PolyOfValue(steps->hi) - PolyOfValue(steps->lo) - 1, PolyOfValue(steps->step));
  return PolyOfExtreme(AtomKind::Max, 0, last + 1);
}

Poly Terms::PolyOfIndex(const AccessView& view, size_t dim) {
  ir::Access access = view.access();
  Poly sum = PolyOfSize(access.dims[dim].offset, By::Cores);
  for (const ir::AccessTerm& term : access.dims[dim].terms) {
    const Value* operand = view.index[term.operand];
    bool is_block = operand->type()->kind == ir::TypeKind::Block;
    Poly value = is_block ? Poly::Atom(ElementAtom(operand)) : Modulo(operand);
    sum += PolyOfSize(term.coefficient, By::Cores) * value;
  }
  return sum;
}

}  // namespace kdl::proofs
