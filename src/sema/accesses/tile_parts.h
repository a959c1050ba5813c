#pragma once

#include "sema/walk/state.h"

// Subtiles: parts of tiles, selected by indices for named ranges, as in `t[k = e]`.
namespace kdl::sema {

/// Returns whether `expr` indexes a tile by the names of its ranges.
bool IsTilePart(const FunctionState& state, const syntax::Expr* expr);

/// Checks a subtile. Its type has the tile's scalar type, the ranges of the tile that are not indexed, and
/// the ranges of the indices.
Type CheckTilePart(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info);

/// Checks a subtile that is the target of an assignment. `tile` is the type of the variable whose subtile is
/// assigned.
Type CheckAssignedPart(FunctionState& state, const syntax::IndexExpr& index, const Type& tile,
                       ExprInfo& info);

}  // namespace kdl::sema
