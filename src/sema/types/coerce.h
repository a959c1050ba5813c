#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Gives an expression of literals its type, down to its leaves. Reports what does not fit.
bool Coerce(FunctionState& state, const syntax::Expr* expr, Scalar scalar);

/// Whether an integer division in an expression of literals may leave a rest: as floats it would
/// not be what it is as integers.
bool Floors(const FunctionState& state, const syntax::Expr* expr);

/// The type that a literal has without context: i32 or f32, in contracts i64 or f64. Other
/// expressions stay as they are. The final type.
Type Default(FunctionState& state, const syntax::Expr* expr);

/// Gives operands that were checked one scalar type: literals take that of the others. The result
/// is a value or literal with the ranges of all; an error where types mix, which is reported.
Type Unify(FunctionState& state, std::span<const syntax::Expr* const> exprs, Span at,
           std::string_view what);

/// Gives `expr` the scalar type that its place has: literals take it. False, without a report,
/// where it has another; errors count as fitting.
bool Fits(FunctionState& state, const syntax::Expr* expr, Scalar scalar);

/// A type as the place sees it: contracts know one float type and, besides u64, one integer type.
Scalar Seen(const FunctionState& state, Scalar scalar);
Type Seen(const FunctionState& state, Type type);

/// `(x + y) as f32`, with parentheses where they are needed. Where x + y would wrap before it is
/// converted to a wider integer: `x as i64 + y as i64`.
/// What to write so that the expression has the type: a cast, or, of a name that has its type from a literal alone, the
/// declaration with the type, which loses nothing.
std::string ConvertHelp(const FunctionState& state, const syntax::Expr* expr, Scalar scalar);
std::string AsHint(const FunctionState& state, const syntax::Expr* expr, Scalar scalar);

}  // namespace kdl::sema
