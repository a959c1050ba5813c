#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the `requires` and `ensures` of a kernel.
void CheckContracts(FunctionState& state);

/// Checks an `expect` of a test.
void CheckExpect(FunctionState& state, const syntax::ExpectStmt& expect);

}  // namespace kdl::sema
