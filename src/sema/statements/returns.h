#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckReturn(FunctionState& state, const syntax::ReturnStmt& stmt);

/// Checks that a fn with a result ends with a `return`.
void CheckLastReturn(FunctionState& state);
/// Checks that a `return` is the last statement of its fn.
void CheckEarlyReturn(FunctionState& state);

}  // namespace kdl::sema
