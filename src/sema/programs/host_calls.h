#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a call of a program, a `copy(from, to);` or a `swap(a, b);`. Returns false if the statement is none
/// of these.
bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt);

}  // namespace kdl::sema
