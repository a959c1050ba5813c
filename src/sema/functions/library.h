#pragma once

#include <string_view>

#include "sema/model/builtins.h"
#include "sema/walk/state.h"

namespace kdl::sema {

// These functions bind builtins and operators to the fns of the standard library that implement them. They
// report an error and return false if there is no such fn.

/// Sets the callee to the fn that computes a builtin on operands of this scalar type.
bool BindLibrary(FunctionState& state, const Builtin& builtin, Scalar scalar, Span at,
                 ExprInfo& info);

/// Sets the callee of the expression (or of the target of an assignment) to the fn that computes `%` on
/// floats. In a contract, an op is used instead.
bool BindFloatRemainder(FunctionState& state, Scalar scalar, Span at, ExprInfo& info);

}  // namespace kdl::sema
