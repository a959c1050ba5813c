#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the statements in a scope of their own.
void CheckBlock(FunctionState& state, const syntax::BlockStmt& block);

/// The body of a fn, kernel or program.
void CheckBody(FunctionState& state);

}  // namespace kdl::sema
