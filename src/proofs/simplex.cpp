#include "proofs/simplex.h"

#include <algorithm>
#include <utility>

namespace kdl::proofs {

namespace {

/// More pivots are rarely needed. The limit also ends cycles.
constexpr int kMostPivots = 200;
/// The sum of 2^14 products of such a factor with a bound fits in 128 bits.
constexpr int64_t kFactorLimit = int64_t{1} << 50;

__int128 Divisor(__int128 a, __int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

/// Stores the quotients of the numbers by their common divisor. Returns false if one does not fit.
bool Reduce(const std::vector<__int128>& factors, __int128 divisor, std::vector<int64_t>& reduced,
            int64_t& reduced_divisor) {
  __int128 common = divisor;
  for (size_t i = 0; i < factors.size() && common != 1; ++i) common = Divisor(common, factors[i]);
  auto fit = [&](__int128 number, int64_t& quotient) {
    number /= common;
    quotient = static_cast<int64_t>(number);
    return -kFactorLimit < number && number < kFactorLimit;
  };
  reduced.resize(factors.size());
  bool fits = fit(divisor, reduced_divisor);
  for (size_t i = 0; i < factors.size(); ++i) fits = fit(factors[i], reduced[i]) && fits;
  return fits;
}

}  // namespace

size_t Simplex::ColumnOf(VariableId variable) {
  auto [slot, is_new] = of_variables_.try_emplace(variable, unknowns_.size());
  if (!is_new) return slot->second;
  unknowns_.emplace_back();
  columns_.push_back(slot->second);
  for (Row& row : rows_) row.factors.push_back(0);
  return slot->second;
}

size_t Simplex::RowOf(SumId sum) {
  if (auto known = of_sums_.find(sum); known != of_sums_.end()) return known->second;
  const LinearTerms& terms = table_.Terms(sum);
  if (terms.size() == 1) return of_sums_[sum] = ColumnOf(terms[0].first);
  for (const auto& [variable, coefficient] : terms) ColumnOf(variable);
  size_t unknown = unknowns_.size();
  unknowns_.emplace_back();
  unknowns_.back().has_row = true;
  if (!AddRow(terms, unknown)) overflows_ = true;
  return of_sums_[sum] = unknown;
}

/// Adds the row of a sum, in which variables that have rows are replaced. Returns false if a number does not fit, or did not
/// fit in an earlier row, which has wrong factors then.
bool Simplex::AddRow(const LinearTerms& terms, size_t unknown) {
  if (overflows_) return false;
  auto fits = [](__int128 number) { return -kFactorLimit < number && number < kFactorLimit; };
  __int128 divisor = 1;
  std::vector<__int128> factors(columns_.size());
  for (const auto& [variable, coefficient] : terms) {
    __int128 factor = divisor * coefficient;
    if (!fits(factor)) return false;
    size_t at = of_variables_.at(variable);
    if (!unknowns_[at].has_row) {
      factors[std::ranges::find(columns_, at) - columns_.begin()] += factor;
    } else {
      const Row& row = *std::ranges::find(rows_, at, &Row::unknown);
      for (size_t i = 0; i < factors.size(); ++i)
        factors[i] = factors[i] * row.divisor + factor * row.factors[i];
      divisor *= row.divisor;
    }
    if (!fits(divisor) || !std::ranges::all_of(factors, fits)) return false;
  }
  Row added{unknown, 1, {}};
  bool is_reduced = Reduce(factors, divisor, added.factors, added.divisor);
  rows_.push_back(std::move(added));
  return is_reduced;
}

void Simplex::Restrict(const LinearRange& range) {
  Unknown& unknown = unknowns_[RowOf(range.sum)];
  unknown.least = std::max(unknown.least, range.least);
  unknown.most = std::min(unknown.most, range.most);
  is_empty_ = is_empty_ || unknown.least > unknown.most;
  if (!is_empty_ && !unknown.has_row)
    unknown.value = std::clamp(unknown.value, unknown.least, unknown.most);
}

/// Returns the value of the row's unknown, multiplied by the row's divisor.
__int128 Simplex::ValueOf(const Row& row) const {
  __int128 sum = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (row.factors[i] != 0)
      sum += static_cast<__int128>(row.factors[i]) * unknowns_[columns_[i]].value;
  }
  return sum;
}

Simplex::Side Simplex::SideOf(const Row& row) const {
  const Unknown& unknown = unknowns_[row.unknown];
  bool has_least = unknown.least != LinearRange::kNoLeast;
  bool has_most = unknown.most != LinearRange::kNoMost;
  if (!has_least && !has_most) return Side::Inside;
  __int128 value = ValueOf(row);
  if (has_least && value < static_cast<__int128>(unknown.least) * row.divisor) return Side::Below;
  bool is_above = has_most && value > static_cast<__int128>(unknown.most) * row.divisor;
  return is_above ? Side::Above : Side::Inside;
}

bool Simplex::MayMove(size_t unknown, bool up) const {
  const Unknown& of = unknowns_[unknown];
  return up ? of.value < of.most : of.value > of.least;
}

/// Replaces the unknown of `column` in a row: `by` is an equation for that unknown.
bool Simplex::Substitute(Row& row, const Row& by, size_t column) const {
  __int128 times = row.factors[column];
  if (times == 0) return true;
  std::vector<__int128> factors(row.factors.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    __int128 kept = i == column ? 0 : static_cast<__int128>(row.factors[i]) * by.divisor;
    factors[i] = kept + times * by.factors[i];
  }
  __int128 divisor = static_cast<__int128>(row.divisor) * by.divisor;
  return Reduce(factors, divisor, row.factors, row.divisor);
}

/// Exchanges the unknowns of a row and a column.
bool Simplex::Pivot(size_t row, size_t column) {
  Row& pivot = rows_[row];
  int64_t factor = pivot.factors[column];
  int64_t sign = factor < 0 ? -1 : 1;
  Row solved{columns_[column], factor * sign, pivot.factors};
  for (int64_t& other : solved.factors) other *= -sign;
  solved.factors[column] = pivot.divisor * sign;
  columns_[column] = pivot.unknown;
  unknowns_[pivot.unknown].has_row = false;
  unknowns_[solved.unknown].has_row = true;
  rows_[row] = std::move(solved);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (i != row && !Substitute(rows_[i], rows_[row], column)) return false;
  }
  return true;
}

/// Returns a column whose unknown can move so that the row's value approaches its range. Prefers an unknown without
/// bounds, because it never has to move again. Nothing if the value cannot get closer.
std::optional<size_t> Simplex::ColumnToMove(const Row& row, Side side) const {
  std::optional<size_t> chosen;
  for (size_t i = 0; i < columns_.size(); ++i) {
    bool up = (row.factors[i] > 0) == (side == Side::Below);
    if (row.factors[i] == 0 || !MayMove(columns_[i], up)) continue;
    const Unknown& unknown = unknowns_[columns_[i]];
    if (unknown.least == LinearRange::kNoLeast && unknown.most == LinearRange::kNoMost) return i;
    if (!chosen) chosen = i;
  }
  return chosen;
}

bool Simplex::IsIntegral() const {
  return std::ranges::all_of(of_variables_, [&](const auto& variable) {
    if (!unknowns_[variable.second].has_row) return true;
    const Row& row = *std::ranges::find(rows_, variable.second, &Row::unknown);
    return row.divisor == 1 || ValueOf(row) % row.divisor == 0;
  });
}

Feasibility Simplex::Check() {
  for (int pivots = 0; !is_empty_ && !overflows_; ++pivots) {
    size_t row = 0;
    Side side = Side::Inside;
    while (row < rows_.size() && (side = SideOf(rows_[row])) == Side::Inside) ++row;
    if (side == Side::Inside) return IsIntegral() ? Feasibility::HasPoint : Feasibility::Unknown;
    if (pivots == kMostPivots) return Feasibility::Unknown;
    std::optional<size_t> column = ColumnToMove(rows_[row], side);
    is_empty_ = !column.has_value();
    if (is_empty_) break;
    Unknown& leaving = unknowns_[rows_[row].unknown];
    leaving.value = side == Side::Below ? leaving.least : leaving.most;
    overflows_ = !Pivot(row, *column);
  }
  return is_empty_ ? Feasibility::Empty : Feasibility::Unknown;
}

}  // namespace kdl::proofs
