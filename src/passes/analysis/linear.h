#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ir/module.h"

namespace kdl::passes {

/// constant + sum of coefficient * atom. An atom is a size without further structure: a size name, or a quotient.
/// Sizes are never negative, so every atom is at least 0 where it is a size name.
struct Linear {
  int64_t constant = 0;
  std::map<Size, int64_t> terms;

  bool is_constant() const { return terms.empty(); }
};

Linear operator+(Linear a, const Linear& b);
Linear operator-(Linear a, const Linear& b);
Linear operator*(Linear a, int64_t factor);

/// Products of two unknowns and the like become atoms.
Linear LinearOf(Size size);

/// Inclusive bounds of an i64 value for all sizes and all turns of the loops around it.
struct Interval {
  Linear lo;
  Linear hi;
};

/// What is known of a scalar value, or of the absolute indices of a blk. Nothing: it may be anything.
std::optional<Interval> BoundsOf(const ir::Value* value, const ir::Function& function,
                                 ir::TypeTable& types);

enum class Answer : uint8_t { Yes, No, Unknown };

/// Whether `form` >= 0 for all sizes for which the loops around `op` run at all. No: it is negative for all of them.
Answer IsNonNegative(const Linear& form, const ir::Op* op, const ir::Function& function,
                     ir::TypeTable& types);

}  // namespace kdl::passes
