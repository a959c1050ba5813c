#include "passes/analysis/prover.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>

namespace kdl::passes {

namespace {

constexpr int kMostSteps = 2000;  ///< of one search
constexpr int64_t kMostFactor = 1 << 30;
constexpr int kMostFacts = 3;  ///< that are taken away on one path

}  // namespace

bool Prover::NonNegative(const Poly& poly) {
  auto says = [&](const Poly& fact) { return (poly - fact).exact() && IsSum(poly - fact); };
  if (poly.exact() && std::any_of(facts_.begin(), facts_.end(), says)) return true;
  for (int facts = 0; facts <= kMostFacts; ++facts) {  // a long search ends in nothing as a rule
    if (NonNegative(poly, facts)) return true;
  }
  return false;
}

bool Prover::NonNegative(const Poly& poly, int facts_left) {
  failed_.assign(kMostFacts + 1, {});
  steps_ = 0;
  return Try(poly, facts_left);
}

/// Every term is at least 0, whatever the atoms are.
bool Prover::IsSum(const Poly& poly) const {
  int64_t sum = 0;
  for (const auto& [monomial, coefficient] : poly.terms()) {
    int64_t least = 1;  // of the product
    for (AtomId atom : monomial) {
      int64_t best = -1;
      for (const AtomBound& bound : terms_.Facts(atom).lower) {
        if (bound.scale == Poly(1)) best = std::max(best, bound.bound.AsConstant().value_or(-1));
      }
      if (best < 0 || __builtin_mul_overflow(least, best, &least)) return false;
    }
    if (!monomial.empty() && coefficient < 0) return false;
    if (__builtin_mul_overflow(least, coefficient, &least)) return false;
    if (__builtin_add_overflow(sum, least, &sum)) return false;
  }
  return sum >= 0;
}

bool Prover::Try(const Poly& poly, int facts_left) {
  if (!poly.exact()) return false;
  if (IsSum(poly)) return true;
  std::set<Poly>& failed = failed_[static_cast<size_t>(facts_left)];
  if (++steps_ > kMostSteps || failed.contains(poly)) return false;
  std::vector<std::pair<int, AtomId>> atoms;
  for (const auto& [monomial, coefficient] : poly.terms()) {
    for (AtomId atom : monomial) atoms.emplace_back(terms_.Facts(atom).depth, atom);
  }
  std::sort(atoms.begin(), atoms.end());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
    std::optional<bool> tried = TryAtom(poly, atom->second, facts_left);
    if (tried == true) return true;
    if (tried) break;  // bounds name atoms of less depth only: another order finds nothing else
  }
  if (TryFacts(poly, facts_left)) return true;
  failed.insert(poly);
  return false;
}

std::optional<bool> Prover::TryAtom(const Poly& poly, AtomId atom, int facts_left) {
  std::optional<Poly::Split> split = poly.SplitBy(atom);
  if (!split) return std::nullopt;
  std::optional<int64_t> constant = split->coefficient.AsConstant();
  bool rises = constant ? *constant > 0 : Try(split->coefficient, facts_left);
  bool falls = constant ? *constant < 0 : !rises && Try(Poly(-1) * split->coefficient, facts_left);
  if (!rises && !falls) return std::nullopt;
  const AtomFacts& facts = terms_.Facts(atom);
  bool is_extreme = facts.kind == AtomKind::Min || facts.kind == AtomKind::Max;
  if (is_extreme && rises == (facts.kind == AtomKind::Min)) {
    // the one of both that is worse
    return Try(split->coefficient * facts.a + split->rest, facts_left) &&
           Try(split->coefficient * facts.b + split->rest, facts_left);
  }
  const std::vector<AtomBound>& bounds = rises ? facts.lower : facts.upper;
  if (bounds.empty()) return std::nullopt;
  return TryBounds(*split, bounds, facts_left);
}

/// coefficient * atom + rest >= 0 where scale * atom is at least, or at most, a bound. Of integers scale * p > -scale is enough.
bool Prover::TryBounds(const Poly::Split& split, const std::vector<AtomBound>& bounds,
                       int facts_left) {
  for (const AtomBound& bound : bounds) {
    Poly scale = bound.scale;
    Poly replaced = split.coefficient * bound.bound + scale * split.rest + scale - 1;
    if (Try(replaced, facts_left)) return true;
  }
  return false;
}

/// A negative term of atoms without upper bounds: only a fact can take it away, and facts may go in any order.
const Monomial* Prover::Unbounded(const Poly& poly) const {
  auto is_free = [&](AtomId atom) { return terms_.Facts(atom).upper.empty(); };
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (coefficient < 0 && !monomial.empty() &&
        std::all_of(monomial.begin(), monomial.end(), is_free))
      return &monomial;
  }
  return nullptr;
}

/// A term that a sum which is at least 0 for sure has not: a negative one, or one whose atoms may be negative for all that
/// their bounds say.
bool Prover::IsToLose(const Monomial& monomial, int64_t coefficient) const {
  if (coefficient < 0) return true;
  auto is_negative = [](const AtomBound& bound) {
    return bound.bound.AsConstant().value_or(0) < 0;
  };
  return std::any_of(monomial.begin(), monomial.end(), [&](AtomId atom) {
    const std::vector<AtomBound>& lower = terms_.Facts(atom).lower;
    return std::all_of(lower.begin(), lower.end(), is_negative);
  });
}

/// poly - k * fact >= 0 for a fact with a term that poly must lose; k is a positive number, times atoms from 0 on.
bool Prover::TryFacts(const Poly& poly, int facts_left) {
  if (facts_left == 0) return false;
  const Monomial* only = Unbounded(poly);
  for (auto term = poly.terms().rbegin(); term != poly.terms().rend(); ++term) {  // constant last
    const auto& [monomial, coefficient] = *term;
    if (!IsToLose(monomial, coefficient) || (only && &monomial != only)) continue;
    if (coefficient < -kMostFactor || coefficient > kMostFactor) continue;
    for (const Poly& fact : facts_) {
      for (const auto& [part, factor] : fact.terms()) {
        if ((factor < 0) != (coefficient < 0)) continue;
        if (factor < -kMostFactor || factor > kMostFactor) continue;
        if (!std::includes(monomial.begin(), monomial.end(), part.begin(), part.end())) continue;
        if (steps_ > kMostSteps) return false;
        Monomial others;
        std::set_difference(monomial.begin(), monomial.end(), part.begin(), part.end(),
                            std::back_inserter(others));
        int64_t scale =
            std::abs(factor) / std::gcd(coefficient, factor);  // s * p + s - 1 >= 0 is enough
        Poly multiple = Poly::Term(others, coefficient * scale / factor);
        Poly left = Poly(scale) * poly + Poly(scale - 1) - multiple * fact;
        if (IsSum(multiple) && Try(left, facts_left - 1)) return true;
      }
    }
  }
  return false;
}

}  // namespace kdl::passes
