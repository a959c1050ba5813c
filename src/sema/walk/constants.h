#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// The value of a `const` item; evaluates it at the first call, which also gives the entity its
/// type and size. Nothing where it is faulty, which is reported once, and where it is a table.
std::optional<Literal> ConstValue(FunctionState& state, const Entity* entity);

/// The same for the check of the items themselves.
std::optional<Literal> EvaluateConst(ModuleState& module, const Entity* entity);

}  // namespace kdl::sema
