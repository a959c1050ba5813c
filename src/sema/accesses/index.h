#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the access `base[…]`. `stored` says whether it is the target of an assignment. Resolves every index
/// to an affine form. Returns the type of the access: the scalar type of the base, with the ranges of all
/// indices.
Type CheckIndex(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info, bool stored);

}  // namespace kdl::sema
