#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Sets the type of an expression that consists of literals, and the types of its subexpressions. Reports
/// values that do not fit the type.
bool Coerce(FunctionState& state, const syntax::Expr* expr, Scalar scalar);

/// Returns whether an expression that consists of literals may contain an integer division with a
/// remainder. Such an expression would have another value if it were computed in floats.
bool Floors(const FunctionState& state, const syntax::Expr* expr);

/// Gives a literal without context its default type: i32 or f32 (in contracts, i64 or f64). Does not change
/// other expressions. Returns the final type.
Type Default(FunctionState& state, const syntax::Expr* expr);

/// Gives operands a common scalar type: literals adopt the type of the other operands. All operands must
/// already have been checked. The result is a value or literal with the ranges of all operands. If the types
/// differ, reports an error and returns an error type.
Type Unify(FunctionState& state, std::span<const syntax::Expr* const> exprs, Span at,
           std::string_view what);

/// Returns whether `expr` has this scalar type. A literal adopts the type if it fits. Does not report
/// anything. Returns true for an expression that has an error.
bool Fits(FunctionState& state, const syntax::Expr* expr, Scalar scalar);

/// Returns the type that a value of this type has in the code that is being checked. In contracts, every
/// float is an f64, and every integer an i64 or u64. Elsewhere, the type does not change.
Scalar Seen(const FunctionState& state, Scalar scalar);
Type Seen(const FunctionState& state, Type type);

/// Suggests how to give the expression this type. Usually this is a cast. For a name whose type comes only
/// from a literal, it is a type in the declaration, so that the literal is not rounded to another type first.
std::string ConvertHelp(const FunctionState& state, const syntax::Expr* expr, Scalar scalar);
/// Returns a cast such as `(x + y) as f32`, with parentheses if they are needed. If x + y would wrap before
/// its conversion to a wider integer type, returns `x as i64 + y as i64`.
/// What operators and builtins require of the types whose values can only be converted and copied.
inline constexpr std::string_view kArithmetic = "a type with arithmetic";

std::string AsHint(const FunctionState& state, const syntax::Expr* expr, Scalar scalar);

}  // namespace kdl::sema
