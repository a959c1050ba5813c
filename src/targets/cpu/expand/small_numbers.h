#pragma once

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

// Where all factors and sums of an f32 chain are far above the least normal number, or 0, no sum of it is subnormal:
// factors of 8 digits from 2^-56 on have products that are multiples of 2^-126, the least normal number, and f32 from 2^-103
// on are such multiples, too; so is every sum, rounded or not. A unit that flushes has nothing to flush then.
inline constexpr float kLeastFactor = 0x1p-56F;
inline constexpr float kLeastSum = 0x1p-103F;

/// Looks for numbers that are not 0, and smaller than a limit.
class SmallNumbers {
 public:
  SmallNumbers(Expander& e, float limit) : e_(e), limit_(limit) {}

  /// A scalar bool: whether none of the values, scalars or vectors of equally many lanes, is one.
  ir::Value* NoneOf(const Values& values);
  /// The same of the elements in a home, over the windows of its axes.
  ir::Value* NoneIn(const ir::Op* at, const Home& home);

 private:
  /// `found`, with 1 where there is one; else 0.
  ir::Value* Note(ir::Value* found, ir::Value* value, ir::Value* mask);
  ir::Value* None(ir::Value* found);
  ir::Value* Constant(float value);

  Expander& e_;
  float limit_;
};

}  // namespace kdl::cpu
