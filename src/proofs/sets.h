#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proofs/linear.h"

struct isl_ctx;
struct isl_pw_aff;
struct isl_set;

namespace kdl::proofs {

// Sets of integer points and affine functions on them. Sets of linear constraints are handled by `linear_sets.h`, all
// others by isl, https://libisl.sourceforge.io. A point assigns a number to each variable. Variables have names, and a set says nothing about variables that
// it does not mention. A result that takes too many steps, or that depends on such a result, is unknown:
// `known()` is false, and functions that ask about it return no answer.

/// The step limit of most queries. A query asks, for example, whether all accesses of a kernel are in bounds.
constexpr uint64_t kStepsOfQuestion = 4'000'000;

/// Owns isl's memory and counts steps. The steps of an operation are estimated from the pieces and
/// constraints of its sets, so that what is proven does not depend on the version of isl. Each kernel has one
/// context, which outlives everything made from it.
class SetContext {
 public:
  /// No query may use more than `most` steps, even if `Allow` permits more.
  explicit SetContext(std::optional<uint64_t> most = {});
  ~SetContext();
  SetContext(const SetContext&) = delete;
  SetContext& operator=(const SetContext&) = delete;

  isl_ctx* get() const { return context_; }
  /// Sets the number of steps that the next query may use. Called before each query.
  void Allow(uint64_t steps) const;
  /// Uses up steps. If too few steps are left, returns false. In this case, later calls return false, too,
  /// until `Allow` is called.
  bool Spend(uint64_t steps) const;
  /// Whether the query has used up its steps.
  bool IsExhausted() const;
  /// Returns the number of the query.
  uint64_t query() const { return query_; }

  LinearTable& table() const { return table_; }
  /// Returns whether the piece has an integer point; nothing if isl does not find out.
  std::optional<bool> HasPoint(const LinearPiece& piece) const;

 private:
  static constexpr uint64_t kNoLimit = ~uint64_t{0};
  uint64_t most_;
  mutable uint64_t left_ = kNoLimit;
  mutable uint64_t query_ = 0;
  isl_ctx* context_;
  mutable LinearTable table_;
  mutable std::map<LinearPiece, bool> has_point_;  ///< answers to earlier questions
};

/// A piecewise affine integer function of variables, including quotients by positive constants.
class Affine {
 public:
  Affine() = default;  ///< an unknown function
  static Affine Constant(const SetContext& context, int64_t value);
  static Affine Variable(const SetContext& context, const std::string& name);

  bool known() const { return linear_ || value_; }
  size_t pieces() const;
  /// Returns the function as a linear form; null if it has quotients or several pieces.
  const LinearForm* linear() const { return linear_.get(); }
  isl_pw_aff* get() const;
  const SetContext* context() const { return context_; }

  friend Affine operator+(const Affine& a, const Affine& b);
  friend Affine operator-(const Affine& a, const Affine& b);
  friend Affine operator*(int64_t factor, const Affine& a);
  Affine FloorDivide(int64_t divisor) const;  ///< the divisor must be at least 1
  friend Affine Min(const Affine& a, const Affine& b);
  friend Affine Max(const Affine& a, const Affine& b);
  /// Returns the function that is `a` where this function is not 0, and `b` elsewhere.
  Affine Choose(const Affine& a, const Affine& b) const;

 private:
  friend class PointSet;
  Affine(const SetContext* context, isl_pw_aff* taken);
  Affine(const SetContext* context, LinearForm linear);

  std::shared_ptr<const LinearForm> linear_;
  mutable std::shared_ptr<isl_pw_aff> value_;  ///< null if not known or not yet needed
  const SetContext* context_ = nullptr;
};

/// constant + the sum of coefficient * variable.
struct LinearSum {
  std::map<std::string, int64_t> terms;
  int64_t constant = 0;
  bool operator==(const LinearSum&) const = default;
};

/// Bounds of a variable: it is at least each of `least` (rounded up) and at most each of `most` (rounded down).
struct VariableBounds {
  struct Bound {
    LinearSum sum;
    int64_t divisor = 1;
    bool operator==(const Bound&) const = default;
  };
  std::vector<Bound> least;
  std::vector<Bound> most;
};

/// Bounds of several variables in one piece of a set, where all sums in `conditions` are at least 0. The bounds of a variable
/// do not mention the other ones. If one variable has no value within its bounds, the piece is empty.
struct PieceBounds {
  std::vector<VariableBounds> variables;
  std::vector<LinearSum> conditions;
  bool is_box = true;  ///< whether no constraint of the piece mentions two of the variables
};

/// The value of each variable of a point.
using Point = std::map<std::string, int64_t>;

class PointSet {
 public:
  PointSet() = default;  ///< an unknown set
  static PointSet All(const SetContext& context);
  static PointSet None(const SetContext& context);

  bool known() const { return body_ != nullptr; }

  friend PointSet operator&(const PointSet& a, const PointSet& b);
  friend PointSet operator|(const PointSet& a, const PointSet& b);
  friend PointSet operator-(const PointSet& a, const PointSet& b);
  PointSet& operator&=(const PointSet& other) { return *this = *this & other; }
  PointSet& operator|=(const PointSet& other) { return *this = *this | other; }

  size_t pieces() const;  ///< the number of pieces whose union the set is
  /// Returns whether the set is empty, or nothing if that is unknown; both `true` and `false` are proofs.
  std::optional<bool> IsEmpty() const;
  bool IsSurelyEmpty() const { return IsEmpty() == true; }
  bool IsSurelySubsetOf(const PointSet& other) const;

  std::set<std::string> Variables() const;
  /// Returns the variables for which `wanted` is true.
  template <class Wanted>
  std::vector<std::string> Variables(Wanted&& wanted) const {
    std::vector<std::string> found;
    for (const std::string& variable : Variables()) {
      if (wanted(variable)) found.push_back(variable);
    }
    return found;
  }
  bool Mentions(const std::string& variable) const;
  /// Eliminates the variables by existential quantification: returns the points that are in the set for some
  /// values of these variables.
  PointSet WithSome(const std::vector<std::string>& variables) const;
  /// Renames variables; the set must not mention the new names yet.
  PointSet Renamed(const std::map<std::string, std::string>& names) const;
  /// Returns a function that is 1 in the set and 0 elsewhere.
  Affine Indicator() const;
  /// Returns the same set in fewer pieces if possible.
  PointSet Joined() const;
  /// Returns a simpler set, often with fewer variables, that has the same points within `facts`.
  PointSet SimplifiedWithin(const PointSet& facts) const;
  /// Returns affine upper bounds that some piece has for the variable and that do not mention the variables
  /// in `without`.
  std::vector<Affine> UpperBounds(const std::string& variable,
                                  const std::vector<std::string>& without) const;
  /// Returns the bounds of the variables in each piece. The bounds may be wider than the piece, for example where it contains
  /// only every n-th number. Returns nothing if a number in them has more than 32 bits.
  std::optional<std::vector<PieceBounds>> BoundsOf(const std::vector<std::string>& variables) const;
  /// Returns the lexicographically least point. The variables in `order` are compared first, then the others.
  /// Returns nothing if there is no point or none is known.
  std::optional<Point> Least(const std::vector<std::string>& order) const;

 private:
  /// Whether enough steps are left to examine this set.
  bool MaySpend() const;
  /// Whether enough steps are left to examine this set together with each piece of another one.
  bool MaySpend(const PointSet& other) const;

  struct Body;
  PointSet(const SetContext* context, isl_set* taken);
  PointSet(const SetContext* context, LinearPieces pieces);
  /// Returns the pieces of the set; null if it has quotients or numbers that do not fit.
  const LinearPieces* linear() const;
  /// Returns the variables of a set that has pieces.
  const std::vector<VariableId>& LinearVariables() const;
  /// Returns the set in the form of isl; null if isl fails.
  isl_set* get() const;
  /// Returns the number of pieces and their constraints.
  uint64_t Size() const;
  uint64_t EstimateSteps() const;
  PointSet WithSomeValue(const std::string& variable) const;
  std::function<bool(const LinearPiece&)> MayHavePointTest() const;

  std::shared_ptr<Body> body_;
  const SetContext* context_ = nullptr;

  friend struct Comparison;
};
PointSet Equal(const Affine& a, const Affine& b);
PointSet Less(const Affine& a, const Affine& b);
PointSet AtMost(const Affine& a, const Affine& b);

}  // namespace kdl::proofs
