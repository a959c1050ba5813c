#include "passes/analysis/poly.h"

#include <algorithm>

namespace kdl::passes {

Poly Poly::Term(Monomial monomial, int64_t coefficient) {
  Poly poly;
  poly.Add(monomial, coefficient);
  return poly;
}

int64_t Poly::constant() const {
  auto found = terms_.find({});
  return found == terms_.end() ? 0 : found->second;
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
  int64_t& present = terms_[monomial];
  // The smallest number counts as outside: it has no opposite.
  if (__builtin_add_overflow(present, coefficient, &present) || present == INT64_MIN)
    exact_ = false;
  if (present == 0) terms_.erase(monomial);
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
      Monomial both(ma.size() + mb.size());
      std::merge(ma.begin(), ma.end(), mb.begin(), mb.end(), both.begin());
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
    auto count = std::count(monomial.begin(), monomial.end(), atom);
    if (count > 1) return std::nullopt;
    Monomial others = monomial;
    if (count == 1) others.erase(std::find(others.begin(), others.end(), atom));
    (count == 1 ? split.coefficient : split.rest).Add(others, coefficient);
  }
  return split;
}

Poly Poly::With(AtomId atom, const Poly& value) const {
  Poly result;
  result.exact_ = exact_;
  for (const auto& [monomial, coefficient] : terms_) {
    Monomial others;
    Poly term(1);
    for (AtomId a : monomial) {
      if (a == atom) {
        term *= value;
      } else {
        others.push_back(a);
      }
    }
    result += term * Term(others, coefficient);
  }
  return result;
}

}  // namespace kdl::passes
