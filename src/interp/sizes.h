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

/// Values of int generics that a function leaves open, by name.
using Constants = std::map<std::string, int64_t>;

/// What the size names and int generics of a function stand for in one run.
struct SizeValues {
  std::unordered_map<Name, int64_t> values;

  std::optional<int64_t> Find(Name name) const;
  Symbols AsSymbols() const;
};

/// Binds each size name by its first bare use among the tensor parameters (`sizes`: in their order)
/// and checks every other use; a Failure names both parameters, dimensions and sizes. Size names
/// that no tensor gives come from `constants`.
Result<SizeValues> BindSizes(const ir::Function& function,
                             const std::vector<std::vector<int64_t>>& sizes,
                             const Constants& constants);

/// Why a core or a program does not go on, where the sizes do not compare as the `require` says.
std::optional<Trap> BrokenRequirement(const ir::Function& function, const ir::Op& require,
                                      const Symbols& symbols);

/// `a[M, K]`, as the source writes the parameter; `a` for a scalar.
std::string SpellingOf(const ir::Param& param);

}  // namespace kdl::interp
