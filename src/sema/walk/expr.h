#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// Each function records its results in the function's table and reports errors. The type of a
// faulty expression is an error type, which is compatible with everything.

/// Checks any expression and returns its type. Literals have no final type until their context is
/// known.
Type CheckExpr(FunctionState& state, const syntax::Expr* expr);

/// Checks an expression that must be a value: a scalar, a tile or a literal.
Type CheckValue(FunctionState& state, const syntax::Expr* expr);

/// Checks an expression that must be a value or a tuple.
Type CheckAny(FunctionState& state, const syntax::Expr* expr);

/// Checks a value, and gives literals their default type.
Type CheckFinalValue(FunctionState& state, const syntax::Expr* expr);

/// Checks a scalar integer, such as a bound, a size or a number of cores. `what` describes it in
/// messages.
Type CheckInteger(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// Checks a bool. With `scalar`, it must have no ranges.
Type CheckCondition(FunctionState& state, const syntax::Expr* expr, std::string_view what,
                    bool scalar);

}  // namespace kdl::sema
