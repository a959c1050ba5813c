#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks `base[…]`, which is read, or assigned if `stored`. Resolves every index to an affine
/// form. Returns the scalar type of the base over the ranges of all indices.
Type CheckIndex(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info, bool stored);

}  // namespace kdl::sema
