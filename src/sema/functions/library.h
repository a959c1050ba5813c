#pragma once

#include <string_view>

#include "sema/model/builtins.h"
#include "sema/walk/state.h"

namespace kdl::sema {

// The fns of the standard library that builtins and operators are made of. False, reported, where there is none.

/// The fn that computes a builtin on operands of this scalar, as the callee.
bool BindLibrary(FunctionState& state, const Builtin& builtin, Scalar scalar, Span at,
                 ExprInfo& info);

/// The fn that `%` of floats is, as the callee of the expression or of an assignment's target. Contracts have an op.
bool BindFloatRemainder(FunctionState& state, Scalar scalar, Span at, ExprInfo& info);

}  // namespace kdl::sema
