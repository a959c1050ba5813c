#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks that a fn uses all pipe ends that are its parameters, whichever branches of its `if` statements are
/// executed.
void CheckEndsUsed(FunctionState& state);

/// Reports each push or pop that is not executed exactly once when the statement that contains it
/// is executed.
void CheckPipePlaces(FunctionState& state, const syntax::Stmt* stmt);

}  // namespace kdl::sema
