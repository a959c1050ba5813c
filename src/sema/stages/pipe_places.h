#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Of a fn that takes ends of pipes: whether each is used, whichever way an `if` goes.
void CheckEndsUsed(FunctionState& state);

/// Reports pushes and pops of a checked statement that do not run exactly once with it.
void CheckPipePlaces(FunctionState& state, const syntax::Stmt* stmt);

}  // namespace kdl::sema
