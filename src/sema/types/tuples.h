#pragma once

#include "sema/walk/state.h"

// A tuple consists of a few scalars or tiles. It can be bound by a `let`, passed to and returned
// from a fn, and reduced.
namespace kdl::sema {

/// Checks a tuple such as `(a, b)`.
Type CheckTuple(FunctionState& state, const syntax::TupleExpr& tuple);

/// Checks `if c then a else b`, where a or b is a tuple.
Type CheckTupleChoice(FunctionState& state, const syntax::IfExpr& choice, const Type& condition);

/// Checks an element of a tuple, such as `t.0`.
Type CheckPart(FunctionState& state, const syntax::FieldExpr& field);

/// Returns the type of a parameter, result or variable that is a tuple of scalars, or reports an
/// error and returns an error type.
Type ResolveTuple(FunctionState& state, const syntax::TypeRef& ref);

/// Returns whether a value, or each element of a tuple, has the wanted scalar type. Literals adopt that
/// type. Does not report anything. Returns true for an expression that has an error.
bool FitsType(FunctionState& state, const syntax::Expr* expr, const Type& wanted);

/// Gives the literals in a value or tuple their default types, and returns the final type.
Type DefaultParts(FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
