#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Gives an expression of literals its type, including all subexpressions. Reports values that do
/// not fit.
bool Coerce(FunctionState& state, const syntax::Expr* expr, Scalar scalar);

/// Whether an expression of literals may contain an integer division with a remainder, which would
/// have another value if it were computed in floats.
bool Floors(const FunctionState& state, const syntax::Expr* expr);

/// Gives a literal without context its default type: i32 or f32, or i64 or f64 in contracts. Other
/// expressions are unchanged. Returns the final type.
Type Default(FunctionState& state, const syntax::Expr* expr);

/// Gives operands, which have been checked, a common scalar type: literals adopt the type of the
/// others. The result is a value or literal with the ranges of all operands, or an error if types
/// are mixed, which is reported.
Type Unify(FunctionState& state, std::span<const syntax::Expr* const> exprs, Span at,
           std::string_view what);

/// Whether `expr` has this scalar type; a literal adopts it. Does not report anything. Returns true
/// for an expression with an error.
bool Fits(FunctionState& state, const syntax::Expr* expr, Scalar scalar);

/// Returns the type as it is seen at this point: contracts have one float type, one integer type
/// and u64.
Scalar Seen(const FunctionState& state, Scalar scalar);
Type Seen(const FunctionState& state, Type type);

/// Suggests how to give the expression this type: a cast, or, for a name whose type comes only from
/// a literal, a declaration with the type, which loses nothing.
std::string ConvertHelp(const FunctionState& state, const syntax::Expr* expr, Scalar scalar);
/// Returns the cast `(x + y) as f32`, with parentheses if they are needed. If x + y would wrap
/// before the conversion to a wider integer type, returns `x as i64 + y as i64`.
std::string AsHint(const FunctionState& state, const syntax::Expr* expr, Scalar scalar);

}  // namespace kdl::sema
