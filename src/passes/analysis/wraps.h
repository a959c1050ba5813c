#pragma once

#include <map>

#include "ir/module.h"

namespace kdl::passes {

/// Which 64-bit sums and products may leave 64 bits: those of values that no size bounds, as elements of tensors and
/// parameters of 64 bits are, unless asserts in front of everything that a kernel does bound them, and products of several of
/// fewer bits. What is made of sizes, small numbers and loops over them is taken to stay inside.
class Wraps {
 public:
  explicit Wraps(const ir::Function& function);
  bool MayWrap(const ir::Value* value);
  /// By numbers like sizes of tensors, on both sides.
  bool IsBounded(const ir::Value* value) { return Of(value).both(); }
  /// Also so many times the value.
  bool IsBoundedTimes(const ir::Value* value, Size factor);

 private:
  /// By numbers like sizes of tensors.
  struct Bounded {
    bool below = false;
    bool above = false;
    int bits = 0;  ///< that constants and data take of it; a size takes none

    bool both() const { return below && above; }
  };
  void AddStated(const ir::Value* condition);
  void AddAtMost(const ir::Value* lesser, const ir::Value* greater);
  Bounded Of(const ir::Value* value);
  static Bounded Between(const Bounded& lo, const Bounded& hi);
  static Bounded OneOf(const Bounded& a, const Bounded& b);
  Bounded OfParam(const ir::Value* param);
  static bool IsNextTurn(const ir::Op* def);
  Bounded OfCarried(const ir::Value* param);
  bool NoFurther(const ir::Value* value, const ir::Value* carried, int& bits);
  Bounded OfResult(const ir::Value* value);
  Bounded OfComputed(const ir::Op* def);
  Bounded OfElements(const ir::Value* blk);

  std::map<const ir::Value*, Bounded> known_;
  std::map<const ir::Value*, Bounded> stated_;  ///< by asserts
};

}  // namespace kdl::passes
