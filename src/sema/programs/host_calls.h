#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// A statement of a program that is a call of a program, `copy(from, to);` or `swap(a, b);`. False: it is none of these.
bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt);

}  // namespace kdl::sema
