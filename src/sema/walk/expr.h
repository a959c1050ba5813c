#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// Every function records what it finds in the function's table and reports what is wrong; the type
// of a faulty expression is an error, which goes with everything.

/// The type of any expression. Literals keep their kind until their context is known.
Type CheckExpr(FunctionState& state, const syntax::Expr* expr);

/// The same of an expression that has to be a value: a scalar, a tile or a literal.
Type CheckValue(FunctionState& state, const syntax::Expr* expr);

/// The same, or a tuple.
Type CheckAny(FunctionState& state, const syntax::Expr* expr);

/// A value; literals take their default type.
Type CheckFinalValue(FunctionState& state, const syntax::Expr* expr);

/// A scalar integer: a bound, a size, a number of cores. `what` says which, for messages.
Type CheckInteger(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// A bool; `scalar`: without ranges.
Type CheckCondition(FunctionState& state, const syntax::Expr* expr, std::string_view what,
                    bool scalar);

}  // namespace kdl::sema
