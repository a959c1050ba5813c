#pragma once

#include <set>
#include <vector>

#include "passes/analysis/terms.h"

namespace kdl::passes {

/// Proves polynomials at least 0 from the bounds of their atoms and from facts: other polynomials that are at least 0. Atoms
/// go deepest first, each replaced by one of its bounds; what is left over sizes is a sum of products that are not
/// negative, or a fact is taken away from it. A proof is one; no proof means nothing.
class Prover {
 public:
  Prover(Terms& terms, std::vector<Poly> facts) : terms_(terms), facts_(std::move(facts)) {}

  bool NonNegative(const Poly& poly);
  bool Negative(const Poly& poly) { return NonNegative(Poly(-1) * poly - 1); }

 private:
  bool NonNegative(const Poly& poly, int facts_left);
  bool Try(const Poly& poly, int facts_left);
  /// Nothing: the atom has no bound that helps.
  std::optional<bool> TryAtom(const Poly& poly, AtomId atom, int facts_left);
  bool TryBounds(const Poly::Split& split, const std::vector<AtomBound>& bounds, int facts_left);
  bool TryFacts(const Poly& poly, int facts_left);
  const Monomial* Unbounded(const Poly& poly) const;
  bool IsToLose(const Monomial& monomial, int64_t coefficient) const;
  bool IsSum(const Poly& poly) const;

  Terms& terms_;
  std::vector<Poly> facts_;
  std::vector<std::set<Poly>> failed_;  ///< by the number of facts that were left
  int steps_ = 0;
};

}  // namespace kdl::passes
