#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ir/module.h"
#include "proofs/magnitude.h"

namespace kdl::proofs {

/// Finds 64-bit sums and products that may overflow:
/// - those of values that sizes do not bound, such as elements of tensors and 64-bit parameters, unless
///   asserts at the start of the kernel bound them, before any access that needs such a sum;
/// - products of several narrower numbers;
/// - products of sizes and large numbers.
/// Values computed from sizes, small numbers and loops over them cannot overflow: limit-sizes makes the
/// launch check that.
class Wraps {
 public:
  explicit Wraps(const ir::Function& function);
  bool MayWrap(const ir::Value* value);
  /// Returns whether the value is bounded on both sides by numbers that are about as large as sizes of
  /// tensors.
  bool IsBounded(const ir::Value* value) { return MagnitudeOf(value).both(); }
  /// Returns whether a size, as the cores compute it, is bounded by numbers that are about as large as sizes
  /// of tensors.
  bool IsBounded(Size size) { return MagnitudeOf(size).both(); }
  Magnitude MagnitudeOf(const ir::Value* value);
  Magnitude MagnitudeOf(Size size);
  /// Returns the magnitude of the indices of a block's elements.
  Magnitude MagnitudeOfElements(const ir::Value* block);
  /// The summands of a sum: the number of unknown summands (2 means at least two), and the sum of the others.
  struct Summands {
    int unknown = 0;
    Magnitude known{true, true};
  };
  /// Returns the summands of an index.
  Summands SummandsOf(const ir::AccessDim& dim, std::span<ir::Value* const> index);

 private:
  /// Returns the magnitude of a block or number that occurs in an index. It is unknown if the value may wrap.
  Magnitude MagnitudeOfTerm(const ir::Value* value);
  bool AnyMayWrap(std::span<ir::Value* const> values, std::set<const ir::Value*>& checked);
  void AddStated(const ir::Value* condition);
  Magnitude MagnitudeOfBlockIndex(const ir::Value* block);
  void AddAtMost(const ir::Value* lesser, const ir::Value* greater);
  Magnitude MagnitudeOfSymbol(Name symbol) const;
  Magnitude MagnitudeOfParam(const ir::Value* param);
  Summands SummandsOf(const ir::Value* value);
  static bool IsNextIteration(const ir::Op* def);
  static bool IsEndOfBlock(const ir::Op* def);
  Magnitude MagnitudeOfCarried(const ir::Value* param);
  struct Carried;
  bool NoFurther(const ir::Value* value, Carried& carried);
  Magnitude MagnitudeOfResult(const ir::Value* value);
  Magnitude MagnitudeOfDifference(const ir::Op* def);
  Magnitude MagnitudeOfCast(const ir::Op* def);
  Magnitude MagnitudeOfComputed(const ir::Op* def);

  const ir::Function& function_;
  std::map<const ir::Value*, Magnitude> known_;
  /// The keys of `known_`, in the order in which their magnitudes were found.
  std::vector<const ir::Value*> found_;
  std::map<const ir::Value*, bool> may_wrap_;
  std::map<const ir::Value*, Magnitude> stated_;  ///< the magnitudes that asserts state
};

/// A sum that may overflow because of a parameter that no assert bounds.
struct WrappingSum {
  const ir::Op* sum;
  const ir::Value* number;
};
std::optional<WrappingSum> FindWrappingSum(const ir::Function& kernel);

}  // namespace kdl::proofs
