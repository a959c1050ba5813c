#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/code.h"
#include "interp/trap.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::interp {

/// The values, by name, of int generics that a function leaves open.
using Constants = std::map<std::string, int64_t>;

/// The values of a function's size names and int generics in one run.
struct SizeValues {
  std::unordered_map<Name, int64_t> values;

  std::optional<int64_t> Find(Name name) const;
  Symbols AsSymbols() const;
};

/// Binds each size name to the first dimension of a tensor parameter that consists of just this name, and
/// checks all other uses. `sizes` are those of the tensor parameters, in order. A Failure names both
/// parameters, dimensions and sizes. Size names that do not come from a tensor are looked up in `constants`.
Result<SizeValues> BindSizes(const ir::Function& function,
                             const std::vector<std::vector<int64_t>>& sizes,
                             const Constants& constants);

/// Returns the trap if the sizes violate the `require`.
std::optional<Trap> BrokenRequirement(const ir::Function& function, const ir::Op& require,
                                      const Symbols& symbols);

/// Returns a parameter as in the source: `a[M, K]`, or `a` for a scalar.
std::string SpellingOf(const ir::Param& param);

}  // namespace kdl::interp
