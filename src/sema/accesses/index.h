#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// `base[…]`, read, or, where `stored`, the target of an assignment. Resolves every dimension to
/// an affine form. The type: the base's scalar with the ranges of all dimensions.
Type CheckIndex(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info, bool stored);

}  // namespace kdl::sema
