#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct isl_ctx;
struct isl_pw_aff;
struct isl_set;

namespace kdl::proofs {

// Sets of integer points and what is affine on them: a face of isl, https://libisl.sourceforge.io. A point gives a number to
// each variable; variables have names, and a set says nothing of those that it does not mention. What takes too many
// steps, or was made of such, is not known: `known()` is false, and every question about it has no answer.

constexpr uint64_t kStepsOfQuestion = 4'000'000;  ///< what most questions may take

/// Owns isl's memory, and counts steps: what an operation on sets takes, reckoned from their pieces and constraints, so that no
/// version of isl decides what is proven. One for each kernel that is looked at; outlives what is made of it.
class SetContext {
 public:
  /// `most`: no question may take more steps than this, whatever it is allowed.
  explicit SetContext(std::optional<uint64_t> most = {});
  ~SetContext();
  SetContext(const SetContext&) = delete;
  SetContext& operator=(const SetContext&) = delete;

  isl_ctx* get() const { return context_; }
  /// From here on a question may take so many steps.
  void Allow(uint64_t steps) const;
  /// False: that is more than are left, and from here on none are.
  bool Spend(uint64_t steps) const;

 private:
  static constexpr uint64_t kNoLimit = ~uint64_t{0};
  uint64_t most_;
  mutable uint64_t left_ = kNoLimit;
  isl_ctx* context_;
};

/// An integer, affine in variables piece by piece; quotients by positive constants are affine, too.
class Affine {
 public:
  Affine() = default;  ///< not known
  static Affine Constant(const SetContext& context, int64_t value);
  static Affine Variable(const SetContext& context, const std::string& name);

  bool known() const { return value_ != nullptr; }
  size_t pieces() const;
  isl_pw_aff* get() const { return value_.get(); }
  const SetContext* context() const { return context_; }

  friend Affine operator+(const Affine& a, const Affine& b);
  friend Affine operator-(const Affine& a, const Affine& b);
  friend Affine operator*(int64_t factor, const Affine& a);
  Affine FloorDivide(int64_t divisor) const;  ///< divisor >= 1
  friend Affine Min(const Affine& a, const Affine& b);
  friend Affine Max(const Affine& a, const Affine& b);
  /// `a` where this is not 0, else b.
  Affine Choose(const Affine& a, const Affine& b) const;

 private:
  friend class PointSet;
  Affine(const SetContext* context, isl_pw_aff* taken);
  std::shared_ptr<isl_pw_aff> value_;
  const SetContext* context_ = nullptr;
};

/// The value of each variable of a point.
using Point = std::map<std::string, int64_t>;

class PointSet {
 public:
  PointSet() = default;  ///< not known
  static PointSet All(const SetContext& context);
  static PointSet None(const SetContext& context);

  bool known() const { return set_ != nullptr; }

  friend PointSet operator&(const PointSet& a, const PointSet& b);
  friend PointSet operator|(const PointSet& a, const PointSet& b);
  friend PointSet operator-(const PointSet& a, const PointSet& b);
  PointSet& operator&=(const PointSet& other) { return *this = *this & other; }
  PointSet& operator|=(const PointSet& other) { return *this = *this | other; }

  size_t pieces() const;  ///< of which it is the union
  /// Nothing: not known. A `true` is a proof, and so is a `false`.
  std::optional<bool> IsEmpty() const;
  bool IsSurelyEmpty() const { return IsEmpty() == true; }
  bool IsSurelySubsetOf(const PointSet& other) const;

  std::set<std::string> Variables() const;
  /// Those for which `wanted` holds.
  template <class Wanted>
  std::vector<std::string> Variables(Wanted&& wanted) const {
    std::vector<std::string> found;
    for (const std::string& variable : Variables()) {
      if (wanted(variable)) found.push_back(variable);
    }
    return found;
  }
  bool Mentions(const std::string& variable) const;
  /// Points for which some value of the variable is in the set.
  PointSet WithSome(const std::vector<std::string>& variables) const;
  /// The variables under other names, none of which the set has.
  PointSet Renamed(const std::map<std::string, std::string>& names) const;
  /// 1 in the set, 0 elsewhere.
  Affine Indicator() const;
  /// The same in fewer pieces, where that can be known.
  PointSet Joined() const;
  /// A simpler set, often of fewer variables, that has the same points within `facts`.
  PointSet Within(const PointSet& facts) const;
  /// Affine bounds that some piece has above the variable, in which none of `without` stands.
  std::vector<Affine> UpperBounds(const std::string& variable,
                                  const std::vector<std::string>& without) const;
  /// The point that is least in the variables in this order, then in the others. Nothing: there is none, or none is known.
  std::optional<Point> Least(const std::vector<std::string>& order) const;

 private:
  /// Whether the question may take what looking at this set does, alone or with each piece of another one.
  bool MaySpend() const;
  bool MaySpend(const PointSet& other) const;

  PointSet(const SetContext* context, isl_set* taken);
  std::shared_ptr<isl_set> set_;
  const SetContext* context_ = nullptr;

  friend PointSet Equal(const Affine& a, const Affine& b);
  friend PointSet Less(const Affine& a, const Affine& b);
  friend PointSet AtMost(const Affine& a, const Affine& b);
};
PointSet Equal(const Affine& a, const Affine& b);
PointSet Less(const Affine& a, const Affine& b);
PointSet AtMost(const Affine& a, const Affine& b);

}  // namespace kdl::proofs
