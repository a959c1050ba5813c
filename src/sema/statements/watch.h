#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks `assert` or `static_assert`.
void CheckAssert(FunctionState& state, const syntax::AssertStmt& assertion);
void CheckPrint(FunctionState& state, const syntax::PrintStmt& print);

}  // namespace kdl::sema
