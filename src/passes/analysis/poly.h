#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace kdl::passes {

/// An integer without further structure, numbered by a table of atoms.
using AtomId = uint32_t;
/// A product of atoms, ascending; empty: 1. It lies in one piece: proofs make millions of them.
class Monomial {
 public:
  using value_type = AtomId;
  static constexpr size_t kMost = 7;  ///< atoms

  Monomial() = default;
  explicit Monomial(AtomId atom) { push_back(atom); }

  void push_back(const AtomId& atom) { atoms_[size_++] = atom; }
  const AtomId* begin() const { return atoms_.data(); }
  const AtomId* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  AtomId back() const { return atoms_[size_ - 1]; }
  bool operator==(const Monomial& other) const {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }
  auto operator<=>(const Monomial& other) const {
    return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
  }

 private:
  std::array<AtomId, kMost> atoms_{};
  uint32_t size_ = 0;
};

/// A polynomial over atoms. Arithmetic that leaves 64 bits, or makes a product of too many atoms, gives one that is not
/// exact, of which nothing is known.
class Poly {
 public:
  Poly() = default;
  Poly(int64_t constant) {  // NOLINT: a number is a polynomial
    if (constant != 0) terms_.emplace_back(Monomial(), constant);
  }
  static Poly Atom(AtomId atom) { return Term(Monomial(atom), 1); }
  static Poly Term(const Monomial& monomial, int64_t coefficient);

  bool exact() const { return exact_; }
  using Terms = std::vector<std::pair<Monomial, int64_t>>;
  /// Ascending by their monomials.
  const Terms& terms() const { return terms_; }
  int64_t constant() const;
  /// The value of a constant.
  std::optional<int64_t> AsConstant() const;
  /// The greatest atom; nothing in a constant.
  std::optional<AtomId> Greatest() const;

  /// coefficient * atom + rest, neither of which has the atom. Nothing where a power of it stands.
  struct Split;
  std::optional<Split> SplitBy(AtomId atom) const;
  /// With `value` in place of an atom.
  Poly With(AtomId atom, const Poly& value) const;

  Poly& operator+=(const Poly& other);
  Poly& operator*=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator*(Poly a, const Poly& b) { return a *= b; }
  friend Poly operator-(Poly a, const Poly& b) { return a += Poly(-1) * b; }
  bool operator==(const Poly& other) const = default;
  auto operator<=>(const Poly& other) const = default;

 private:
  void Add(const Monomial& monomial, int64_t coefficient);

  Terms terms_;  ///< no coefficient is 0
  bool exact_ = true;
};

struct Poly::Split {
  Poly coefficient;
  Poly rest;
};

}  // namespace kdl::passes
