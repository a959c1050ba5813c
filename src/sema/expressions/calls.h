#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a call: `f(x)`, where f is a builtin or a fn; a reduction that is called by its name; or a method
/// of a pipe.
Type CheckCall(FunctionState& state, const syntax::CallExpr& call, ExprInfo& info);

}  // namespace kdl::sema
