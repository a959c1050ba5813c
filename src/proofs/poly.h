#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace kdl::proofs {

/// Identifies an atom, which is an integer that is not broken down further, by its number in a table of
/// atoms.
using AtomId = uint32_t;
/// A product of atoms in ascending order; the empty product is 1.
using Monomial = std::vector<AtomId>;

/// A polynomial over atoms. If its coefficients overflow 64 bits or a product has too many atoms, the
/// polynomial is not exact, and nothing is known about its value.
class Poly {
 public:
  Poly() = default;
  Poly(int64_t constant) {  // NOLINT: a number is a polynomial
    if (constant != 0) terms_.emplace_back(Monomial(), constant);
  }
  static Poly Atom(AtomId atom) { return Term(Monomial{atom}, 1); }
  static Poly Term(const Monomial& monomial, int64_t coefficient);

  bool exact() const { return exact_; }
  using Terms = std::vector<std::pair<Monomial, int64_t>>;
  /// Returns the terms, sorted by their monomials.
  const Terms& terms() const { return terms_; }
  int64_t constant() const;
  /// Returns the value of a constant polynomial.
  std::optional<int64_t> AsConstant() const;
  /// Returns the atom with the greatest number; nothing if the polynomial is constant.
  std::optional<AtomId> Greatest() const;

  /// A polynomial in the form coefficient * atom + rest, where neither `coefficient` nor `rest` contains the
  /// atom. A polynomial that contains a higher power of the atom has no such form.
  struct Split;
  std::optional<Split> SplitBy(AtomId atom) const;

  Poly& operator+=(const Poly& other);
  Poly& operator*=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator*(Poly a, const Poly& b) { return a *= b; }
  friend Poly operator-(Poly a, const Poly& b) { return a += Poly(-1) * b; }
  bool operator==(const Poly& other) const = default;
  auto operator<=>(const Poly& other) const = default;

 private:
  void Add(const Monomial& monomial, int64_t coefficient);

  Terms terms_;  ///< coefficients are never 0
  bool exact_ = true;
};

struct Poly::Split {
  Poly coefficient;
  Poly rest;
};

}  // namespace kdl::proofs
