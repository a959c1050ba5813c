#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Each optional parameter doubles the number of instances, so a kernel can only have a few.
inline constexpr size_t kMostOptionals = 4;

/// Returns the optional parameters of a kernel. Each combination of present and absent ones is an instance. Optional
/// parameters that are errors are left out.
std::vector<const syntax::Param*> OptionalParams(const syntax::FunctionItem& item);

/// Returns the combinations of present and absent parameters, the one in which all are present first.
std::vector<std::vector<OptionalInfo>> OptionalCombinations(const syntax::FunctionItem& item);

/// Reports an optional parameter that must not be optional. Returns whether it was reported.
bool IsWronglyOptional(FunctionState& state, const syntax::Param& param);

/// A condition that only asks whether an optional parameter is present: `bias`, or `!bias`.
struct PresenceTest {
  const syntax::Param* param = nullptr;
  bool is_negated = false;
};
/// Returns the condition as such a test, if it is one.
std::optional<PresenceTest> PresenceTestOf(const syntax::FunctionItem& item,
                                           const syntax::Expr* condition);

}  // namespace kdl::sema
