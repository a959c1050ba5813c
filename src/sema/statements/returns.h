#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckReturn(FunctionState& state, const syntax::ReturnStmt& stmt);

/// A fn ends with a `return` where it has a result.
void CheckLastReturn(FunctionState& state);
/// A `return` is the last statement of its fn.
void CheckEarlyReturn(FunctionState& state);

}  // namespace kdl::sema
