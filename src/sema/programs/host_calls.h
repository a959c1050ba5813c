#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a statement that is a call of a program, `copy(from, to);` or `swap(a, b);`. Returns false if the
/// statement is none of these.
bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt);

}  // namespace kdl::sema
