#pragma once

#include <optional>
#include <vector>

#include "sema/state.h"

namespace kdl::sema {

/// `base[…]`, read, or, where `stored`, the target of an assignment. Resolves every dimension to
/// an affine form. The type: the base's scalar with the ranges of all dimensions.
Type CheckIndex(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info, bool stored);

/// An index of a tile, and the ranges that it brings; nothing where it is faulty, which is reported.
std::optional<IndexDim> CheckTileIndex(FunctionState& state, const syntax::Expr* expr);
std::vector<const Entity*> RangesOfIndex(const FunctionState& state, const IndexDim& dim);

/// The value of `else` against the elements' type, which is given back.
Type CheckOtherwise(FunctionState& state, const syntax::Expr* otherwise, Type type);

}  // namespace kdl::sema
