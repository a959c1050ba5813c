#pragma once

#include "targets/cpu/expand/expander.h"
#include "targets/cpu/small_numbers.h"

namespace kdl::cpu {

/// Looks for numbers that are not 0, and smaller than a limit.
class SmallNumbers {
 public:
  SmallNumbers(Expander& e, float limit) : e_(e), limit_(limit) {}

  /// A scalar bool: whether none of the values, scalars or vectors of equally many lanes, is one.
  ir::Value* NoneOf(const Values& values);

 private:
  ir::Value* None(ir::Value* found);

  Expander& e_;
  float limit_;
};

}  // namespace kdl::cpu
