#pragma once

#include <string_view>

#include "sema/model/builtins.h"
#include "sema/walk/state.h"

namespace kdl::sema {

// Binds builtins and operators to the fns of the standard library that implement them. Both
// functions report an error and return false if there is none.

/// Sets the callee to the fn that computes a builtin on operands of this scalar type.
bool BindLibrary(FunctionState& state, const Builtin& builtin, Scalar scalar, Span at,
                 ExprInfo& info);

/// Sets the callee of the expression, or of an assignment's target, to the fn for `%` on floats.
/// Contracts use an op.
bool BindFloatRemainder(FunctionState& state, Scalar scalar, Span at, ExprInfo& info);

}  // namespace kdl::sema
