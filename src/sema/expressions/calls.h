#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// `f(x)`, a builtin, a fn, a kind of reduction by name, or a method of a pipe.
Type CheckCall(FunctionState& state, const syntax::CallExpr& call, ExprInfo& info);

}  // namespace kdl::sema
