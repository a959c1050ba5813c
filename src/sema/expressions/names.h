#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

Type CheckName(FunctionState& state, const syntax::NameExpr& name, ExprInfo& info);

/// Returns the type of a name that refers to `entity`.
Type CheckEntity(FunctionState& state, const Entity& entity, const syntax::Expr* expr,
                 ExprInfo& info);

}  // namespace kdl::sema
