#pragma once

#include "sema/walk/state.h"

// `t[k = e]`: a tile indexed by the names of its ranges.
namespace kdl::sema {

/// Whether an index is of a tile, by names.
bool IsTilePart(const FunctionState& state, const syntax::Expr* expr);

/// The tile's scalar over the ranges that it keeps and those of the indices.
Type CheckTilePart(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info);

/// The same as the target of an assignment: `tile` is the type of the variable, which has been checked.
Type CheckAssignedPart(FunctionState& state, const syntax::IndexExpr& index, const Type& tile,
                       ExprInfo& info);

}  // namespace kdl::sema
