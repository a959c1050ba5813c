#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kdl::proofs {

// Sets of integer points as unions of conjunctions of linear constraints whose numbers fit in 64 bits. Most sets of
// the proofs are of this kind, and isl takes ten times longer for them than the functions here. A function that
// returns an `optional` returns nothing if a number would not fit.

using VariableId = uint32_t;
/// The sum of coefficient * variable, sorted by variables, without coefficients of 0.
using LinearTerms = std::vector<std::pair<VariableId, int64_t>>;
/// Identifies a sum whose coefficients have no common divisor and whose first coefficient is positive.
using SumId = uint32_t;

/// terms + constant.
struct LinearForm {
  LinearTerms terms{};
  int64_t constant = 0;
};
/// Returns a + factor * b.
std::optional<LinearForm> AddMultiple(const LinearForm& a, int64_t factor, const LinearForm& b);

/// Constraints on one sum: least <= sum <= most.
struct LinearRange {
  static constexpr int64_t kNoLeast = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kNoMost = std::numeric_limits<int64_t>::max();

  SumId sum = 0;
  int64_t least = kNoLeast;
  int64_t most = kNoMost;

  bool has_least() const { return least != kNoLeast; }
  bool has_most() const { return most != kNoMost; }
  bool is_equality() const { return least == most; }
  bool is_empty() const { return least > most; }
  auto operator<=>(const LinearRange&) const = default;
};

/// A conjunction: at most one range for each sum, sorted by sums.
using LinearPiece = std::vector<LinearRange>;
/// The union of pieces. No piece, like the empty set; a piece without ranges contains all points.
using LinearPieces = std::vector<LinearPiece>;

/// Returns the intersection, or nothing if the constraints on some sum contradict each other.
std::optional<LinearPiece> Meet(const LinearPiece& a, const LinearPiece& b);
/// Returns the number of constraints, where an equality counts once.
size_t ConstraintCount(const LinearPiece& piece);

/// Numbers variables and sums. The numbers depend only on the order in which they are first used.
class LinearTable {
 public:
  VariableId Variable(const std::string& name);
  const std::string& Name(VariableId variable) const { return names_[variable]; }
  const LinearTerms& Terms(SumId sum) const { return sums_[sum]; }

  /// Returns the points at which form >= 0 or, if `is_equality` is true, form == 0.
  std::optional<LinearPieces> Where(const LinearForm& form, bool is_equality);
  LinearPiece Renamed(const LinearPiece& piece, const std::map<VariableId, VariableId>& names);
  /// Returns the variables that the pieces mention, in ascending order.
  std::vector<VariableId> Variables(const LinearPieces& pieces) const;

 private:
  SumId Intern(LinearTerms terms);

  std::map<std::string, VariableId> variables_;
  std::vector<std::string> names_;
  std::map<LinearTerms, SumId> numbers_;
  std::vector<LinearTerms> sums_;
};

}  // namespace kdl::proofs
