#pragma once

#include <cstdint>
#include <optional>

#include "interp/locate/located.h"
#include "interp/locate/op_pair.h"
#include "interp/trap.h"
#include "ir/module.h"

namespace kdl::interp {

/// Decides which values are wrong, and describes them.
class Judge {
 public:
  /// `longest` is the number of terms of the longest sum.
  Judge(Located what, const ir::Function& kernel, double longest);

  /// Returns the first element of the op's results that is to be reported, or nothing if there is none.
  std::optional<Trap> Check(const OpPair& op) const;

 private:
  bool IsWrong(const OpPair& op, size_t element, double value, double exact, double scale) const;

  Located what_;
  double tolerance_ = 0;  ///< the largest error that rounding explains, relative to the value
};

}  // namespace kdl::interp
