#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/module.h"
#include "proofs/magnitude.h"

namespace kdl::proofs {

/// Which 64-bit sums and products may leave 64 bits: those of values that no size bounds, as elements of tensors and
/// parameters of 64 bits are, unless asserts before everything that a kernel does bound them; products of several of
/// fewer bits; and sizes times great numbers. What is made of sizes, small numbers and loops over them stays inside: limit-sizes
/// lets the launch check that.
class Wraps {
 public:
  explicit Wraps(const ir::Function& function);
  bool MayWrap(const ir::Value* value);
  /// By numbers like sizes of tensors, on both sides.
  bool IsBounded(const ir::Value* value) { return Of(value).both(); }
  /// As the cores compute it, step by step.
  bool IsBounded(Size size) { return Of(size).both(); }
  Magnitude Of(const ir::Value* value);
  Magnitude Of(Size size);
  /// The indices of its elements.
  Magnitude OfElements(const ir::Value* block);
  /// What is added up: how many numbers of which nothing is known, many from 2 on, and the sum of the others.
  struct Summands {
    int unknown = 0;
    Magnitude known{true, true};
  };
  /// Of an index.
  Summands SummandsOf(const ir::AccessDim& dim, std::span<ir::Value* const> index);

 private:
  /// An operand of an index, a block or a number; nothing is known of one that may wrap.
  Magnitude OfTerm(const ir::Value* value);
  void AddStated(const ir::Value* condition);
  void AddAtMost(const ir::Value* lesser, const ir::Value* greater);
  Magnitude OfSymbol(Name symbol) const;
  Magnitude OfParam(const ir::Value* param);
  Summands SummandsOf(const ir::Value* value);
  static bool IsNextIteration(const ir::Op* def);
  Magnitude OfCarried(const ir::Value* param);
  struct Carried;
  bool NoFurther(const ir::Value* value, Carried& carried);
  Magnitude OfResult(const ir::Value* value);
  Magnitude OfDifference(const ir::Op* def);
  Magnitude OfCast(const ir::Op* def);
  Magnitude OfComputed(const ir::Op* def);

  const ir::Function& function_;
  std::map<const ir::Value*, Magnitude> known_;
  std::vector<const ir::Value*> found_;  ///< those known, in the order in which they were found
  std::map<const ir::Value*, bool> may_wrap_;
  std::map<const ir::Value*, Magnitude> stated_;  ///< by asserts
};

/// A sum that may leave 64 bits for a parameter that no assert bounds.
struct WrappingSum {
  const ir::Op* sum;
  const ir::Value* number;
};
std::optional<WrappingSum> FindWrappingSum(const ir::Function& kernel);

}  // namespace kdl::proofs
