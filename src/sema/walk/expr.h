#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// Each function below records its results in the tables of the function that is being checked, and reports
// errors. An expression with an error has an error type, which is compatible with every type.

/// Checks any expression and returns its type. A literal has no final type until its context is known.
Type CheckExpr(FunctionState& state, const syntax::Expr* expr);

/// Checks an expression that must be a value: a scalar, a tile or a literal.
Type CheckValue(FunctionState& state, const syntax::Expr* expr);

/// Checks an expression that must be a value or a tuple.
Type CheckAny(FunctionState& state, const syntax::Expr* expr);

/// Checks an expression that must be a value. A literal gets its default type.
Type CheckFinalValue(FunctionState& state, const syntax::Expr* expr);

/// Checks an expression that must be a scalar integer, such as a bound, a size or a number of cores. `what`
/// describes the expression in messages.
Type CheckInteger(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// Checks an expression that must be a bool. If `scalar` is true, the bool must have no ranges.
Type CheckCondition(FunctionState& state, const syntax::Expr* expr, std::string_view what,
                    bool scalar);

}  // namespace kdl::sema
