#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the type that an expression names, such as `T`, `f32` or `T.acc`, or nothing if it is not a type.
std::optional<Scalar> NamedType(FunctionState& state, const syntax::Expr* expr);

/// Checks a member of a type, such as `T.max` or `T.bits`.
Type CheckTrait(FunctionState& state, const syntax::FieldExpr& field, Scalar scalar,
                ExprInfo& info);

}  // namespace kdl::sema
