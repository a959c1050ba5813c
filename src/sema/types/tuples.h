#pragma once

#include "sema/walk/state.h"

// A tuple has a few scalars or tiles side by side. It stands under a `let`, goes in and out of fns, and is folded.
namespace kdl::sema {

/// `(a, b)`.
Type CheckTuple(FunctionState& state, const syntax::TupleExpr& tuple);

/// `if c then a else b` where a or b is a tuple.
Type CheckTupleChoice(FunctionState& state, const syntax::IfExpr& choice, const Type& condition);

/// `t.0`.
Type CheckPart(FunctionState& state, const syntax::FieldExpr& field);

/// The type of a parameter, result or variable that is a tuple of scalars; an error, reported, where it is none.
Type ResolveTuple(FunctionState& state, const syntax::TypeRef& ref);

/// Gives a value, or each part of a tuple, the scalar that its place has: literals take it. False, without a report,
/// where it has another; errors count as fitting.
bool FitsType(FunctionState& state, const syntax::Expr* expr, const Type& wanted);

/// Literals in it take their default types; the final type.
Type DefaultParts(FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
