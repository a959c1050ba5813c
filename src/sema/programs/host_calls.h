#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a call of a program, a `copy(from, to);`, a `swap(a, b);` or a checkpoint. Returns false if the statement is none
/// of these.
bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt);

}  // namespace kdl::sema
