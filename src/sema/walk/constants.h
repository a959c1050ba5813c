#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the value of a `const` item. The first call evaluates the item and sets the type and size of the
/// entity. Returns nothing for a table or after an error, which is reported only once.
std::optional<Literal> ConstValue(FunctionState& state, const Entity* entity);

/// Like ConstValue, but without a FunctionState, so that it can be used while the items themselves are
/// checked.
std::optional<Literal> EvaluateConst(ModuleState& module, const Entity* entity);

}  // namespace kdl::sema
