#include "proofs/poly.h"

#include <algorithm>
#include <iterator>

namespace kdl::proofs {

namespace {

constexpr size_t kMostAtoms = 7;  ///< the maximum number of factors of a product

}  // namespace

Poly Poly::Term(const Monomial& monomial, int64_t coefficient) {
  Poly poly;
  poly.Add(monomial, coefficient);
  return poly;
}

int64_t Poly::constant() const {
  bool is_first = !terms_.empty() && terms_.front().first.empty();
  return is_first ? terms_.front().second : 0;
}

std::optional<int64_t> Poly::AsConstant() const {
  if (!exact_ || terms_.size() > 1 || (terms_.size() == 1 && !terms_.begin()->first.empty()))
    return std::nullopt;
  return constant();
}

std::optional<AtomId> Poly::Greatest() const {
  std::optional<AtomId> greatest;
  for (const auto& [monomial, coefficient] : terms_) {
    if (!monomial.empty() && (!greatest || monomial.back() > *greatest)) greatest = monomial.back();
  }
  return greatest;
}

void Poly::Add(const Monomial& monomial, int64_t coefficient) {
  if (coefficient == 0) return;
  auto place = std::lower_bound(terms_.begin(), terms_.end(), monomial,
                                [](const auto& term, const Monomial& m) { return term.first < m; });
  bool is_new = place == terms_.end() || place->first != monomial;
  if (is_new) {
    terms_.insert(place, {monomial, coefficient});
    exact_ = exact_ && coefficient != INT64_MIN;
    return;
  }
  // The smallest number counts as an overflow, because it cannot be negated.
  int64_t& present = place->second;
  if (__builtin_add_overflow(present, coefficient, &present) || present == INT64_MIN)
    exact_ = false;
  if (present == 0) terms_.erase(place);
}

Poly& Poly::operator+=(const Poly& other) {
  exact_ = exact_ && other.exact_;
  for (const auto& [monomial, coefficient] : other.terms_) Add(monomial, coefficient);
  return *this;
}

Poly& Poly::operator*=(const Poly& other) {
  Poly product;
  product.exact_ = exact_ && other.exact_;
  for (const auto& [ma, ca] : terms_) {
    for (const auto& [mb, cb] : other.terms_) {
      product.exact_ = product.exact_ && ma.size() + mb.size() <= kMostAtoms;
      if (!product.exact_) continue;
      Monomial both;
      std::merge(ma.begin(), ma.end(), mb.begin(), mb.end(), std::back_inserter(both));
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(ca, cb, &coefficient)) product.exact_ = false;
      product.Add(both, coefficient);
    }
  }
  return *this = std::move(product);
}

std::optional<Poly::Split> Poly::SplitBy(AtomId atom) const {
  Split split;
  split.coefficient.exact_ = split.rest.exact_ = exact_;
  for (const auto& [monomial, coefficient] : terms_) {
    Monomial others;
    std::remove_copy(monomial.begin(), monomial.end(), std::back_inserter(others), atom);
    size_t count = monomial.size() - others.size();
    if (count > 1) return std::nullopt;
    (count == 1 ? split.coefficient : split.rest).Add(others, coefficient);
  }
  return split;
}

}  // namespace kdl::proofs
