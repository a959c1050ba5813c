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

/// The values, by name, of the int generics that a function leaves open.
using Constants = std::map<std::string, int64_t>;

/// The values of a function's size names and int generics in one run.
struct SizeValues {
  std::unordered_map<Name, int64_t> values;

  std::optional<int64_t> Find(Name name) const;
  Symbols AsSymbols() const;
};

/// Binds each size name to the first dimension of a tensor parameter that consists of just this name, and
/// checks all other uses of the name. `sizes` are the sizes of the tensor parameters, in order. If two
/// sizes do not match, the Failure names both parameters, dimensions and sizes. Size names that are not
/// dimensions are looked up in `constants`.
Result<SizeValues> BindSizes(const ir::Function& function,
                             const std::vector<std::vector<int64_t>>& sizes,
                             const Constants& constants);

/// Returns a trap if the sizes violate the `require`, otherwise nothing.
std::optional<Trap> BrokenRequirement(const ir::Function& function, const ir::Op& require,
                                      const Symbols& symbols);

/// Returns a parameter as it is declared in the source: `a[M, K]`, or `a` for a scalar.
std::string SpellingOf(const ir::Param& param);

}  // namespace kdl::interp
