#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the value of a condition in the first iteration of a loop over `binder`, or nothing if it is not known
/// when compiling.
std::optional<bool> InFirstIteration(const FunctionState& state, const syntax::Expr* condition,
                                     const Entity& binder);

}  // namespace kdl::sema
