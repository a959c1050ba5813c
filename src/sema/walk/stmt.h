#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the statements of a block in a new scope.
void CheckBlock(FunctionState& state, const syntax::BlockStmt& block);

/// Checks the body of a fn, kernel or program.
void CheckBody(FunctionState& state);

}  // namespace kdl::sema
