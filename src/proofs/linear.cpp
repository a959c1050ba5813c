#include "proofs/linear.h"

#include <algorithm>
#include <numeric>

#include "support/size.h"

namespace kdl::proofs {

namespace {

/// Numbers of this size and above do not count as fitting, so that they can be negated and increased.
constexpr int64_t kTooGreat = int64_t{1} << 62;

bool Fits(int64_t number) { return -kTooGreat < number && number < kTooGreat; }

/// Computes a + factor * b. Returns false if a number would not fit.
bool AddProduct(int64_t a, int64_t factor, int64_t b, int64_t& sum) {
  int64_t product = 0;
  return !__builtin_mul_overflow(factor, b, &product) &&
         !__builtin_add_overflow(a, product, &sum) && Fits(sum);
}

int64_t CommonDivisor(const LinearTerms& terms) {
  int64_t divisor = 0;
  for (const auto& [variable, coefficient] : terms) divisor = std::gcd(divisor, coefficient);
  return divisor;
}

LinearPieces Everything() { return {LinearPiece()}; }

}  // namespace

std::optional<LinearForm> AddMultiple(const LinearForm& a, int64_t factor, const LinearForm& b) {
  LinearForm sum;
  if (!AddProduct(a.constant, factor, b.constant, sum.constant)) return std::nullopt;
  if (factor == 0) return a;
  sum.terms.reserve(a.terms.size() + b.terms.size());
  auto of_a = a.terms.begin();
  for (const auto& [variable, coefficient] : b.terms) {
    while (of_a != a.terms.end() && of_a->first < variable) sum.terms.push_back(*of_a++);
    bool is_in_both = of_a != a.terms.end() && of_a->first == variable;
    int64_t added = 0;
    if (!AddProduct(is_in_both ? of_a->second : 0, factor, coefficient, added)) return std::nullopt;
    if (is_in_both) ++of_a;
    if (added != 0) sum.terms.emplace_back(variable, added);
  }
  sum.terms.insert(sum.terms.end(), of_a, a.terms.end());
  return sum;
}

std::optional<LinearPiece> Meet(const LinearPiece& a, const LinearPiece& b) {
  LinearPiece both;
  both.reserve(a.size() + b.size());
  auto of_a = a.begin();
  for (const LinearRange& range : b) {
    while (of_a != a.end() && of_a->sum < range.sum) both.push_back(*of_a++);
    both.push_back(range);
    if (of_a == a.end() || of_a->sum != range.sum) continue;
    both.back().least = std::max(range.least, of_a->least);
    both.back().most = std::min(range.most, of_a->most);
    if (both.back().is_empty()) return std::nullopt;
    ++of_a;
  }
  both.insert(both.end(), of_a, a.end());
  return both;
}

size_t ConstraintCount(const LinearPiece& piece) {
  size_t count = 0;
  for (const LinearRange& range : piece)
    count += range.is_equality() ? 1 : size_t{range.has_least()} + size_t{range.has_most()};
  return count;
}

VariableId LinearTable::Variable(const std::string& name) {
  auto [slot, is_new] = variables_.try_emplace(name, static_cast<VariableId>(variables_.size()));
  if (is_new) names_.push_back(name);
  return slot->second;
}

SumId LinearTable::Intern(LinearTerms terms) {
  auto [slot, is_new] = numbers_.try_emplace(std::move(terms), static_cast<SumId>(sums_.size()));
  if (is_new) sums_.push_back(slot->first);
  return slot->second;
}

std::optional<LinearPieces> LinearTable::Where(const LinearForm& form, bool is_equality) {
  if (form.terms.empty()) {
    bool holds = is_equality ? form.constant == 0 : form.constant >= 0;
    return holds ? Everything() : LinearPieces();
  }
  int64_t divisor = CommonDivisor(form.terms);
  bool is_negative = form.terms[0].second < 0;
  LinearTerms terms = form.terms;
  for (auto& [variable, coefficient] : terms) {
    if (!Fits(coefficient)) return std::nullopt;
    coefficient /= is_negative ? -divisor : divisor;
  }
  if (!Fits(form.constant)) return std::nullopt;
  if (is_equality && form.constant % divisor != 0) return LinearPieces();
  // Integer sums are multiples of the divisor, so the constant is rounded to the stricter one.
  int64_t constant = FloorDivide(form.constant, divisor);
  LinearRange range{Intern(std::move(terms))};
  if (!is_negative || is_equality) range.least = is_negative ? constant : -constant;
  if (is_negative || is_equality) range.most = is_negative ? constant : -constant;
  return LinearPieces{{range}};
}

LinearPiece LinearTable::Renamed(const LinearPiece& piece,
                                 const std::map<VariableId, VariableId>& names) {
  LinearPiece renamed;
  for (LinearRange range : piece) {
    LinearTerms terms = sums_[range.sum];
    for (auto& [variable, coefficient] : terms) {
      auto name = names.find(variable);
      if (name != names.end()) variable = name->second;
    }
    std::ranges::sort(terms);
    if (terms[0].second < 0) {
      for (auto& [variable, coefficient] : terms) coefficient = -coefficient;
      LinearRange negated{range.sum};
      if (range.has_most()) negated.least = -range.most;
      if (range.has_least()) negated.most = -range.least;
      range = negated;
    }
    range.sum = Intern(std::move(terms));
    renamed.push_back(range);
  }
  std::ranges::sort(renamed);
  return renamed;
}

std::vector<VariableId> LinearTable::Variables(const LinearPieces& pieces) const {
  std::vector<VariableId> found;
  for (const LinearPiece& piece : pieces) {
    for (const LinearRange& range : piece) {
      for (const auto& [variable, coefficient] : sums_[range.sum]) found.push_back(variable);
    }
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace kdl::proofs
