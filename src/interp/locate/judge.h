#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interp/locate/located.h"
#include "interp/locate/op_pair.h"
#include "interp/trap.h"
#include "ir/module.h"

namespace kdl::interp {

/// Returns the distance from 1 to the next number in the narrowest float type of these functions; 0 if they have no floats.
double NarrowestEpsilon(const std::vector<const ir::Function*>& functions);

/// Decides which values are wrong, and describes them.
class Judge {
 public:
  /// `epsilon` is that of the narrowest float on which the values depend, and `longest` is the number of terms of the
  /// longest sum.
  Judge(Located what, double epsilon, double longest);

  /// Returns the first element of the op's results that is to be reported, or nothing if there is none.
  std::optional<Trap> Check(const OpPair& op) const;

 private:
  bool IsWrong(const OpPair& op, size_t element, double value, double exact, double scale) const;

  Located what_;
  double tolerance_ = 0;  ///< the largest error that rounding explains, relative to the value
};

}  // namespace kdl::interp
