#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a fn that has ends of pipes as parameters: each must be used, whichever way an `if` goes.
void CheckEndsUsed(FunctionState& state);

/// Reports pushes and pops that do not run exactly once with the checked statement that contains
/// them.
void CheckPipePlaces(FunctionState& state, const syntax::Stmt* stmt);

}  // namespace kdl::sema
