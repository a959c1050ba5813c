#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// `requires` and `ensures` of a kernel.
void CheckContracts(FunctionState& state);

/// `expect` of a test.
void CheckExpect(FunctionState& state, const syntax::ExpectStmt& expect);

}  // namespace kdl::sema
