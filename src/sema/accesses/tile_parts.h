#pragma once

#include "sema/walk/state.h"

// Subtiles: tiles that are indexed by the names of their ranges, as `t[k = e]`.
namespace kdl::sema {

/// Whether `expr` indexes a tile by the names of its ranges.
bool IsTilePart(const FunctionState& state, const syntax::Expr* expr);

/// Checks a subtile. Its type is the tile's scalar type over the remaining ranges and those of the
/// indices.
Type CheckTilePart(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info);

/// Does the same for the target of an assignment. `tile` is the type of the variable, which has
/// been checked.
Type CheckAssignedPart(FunctionState& state, const syntax::IndexExpr& index, const Type& tile,
                       ExprInfo& info);

}  // namespace kdl::sema
