#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns an index as an affine form. Returns nothing after reporting an error.
std::optional<IndexDim> CheckIndexDim(FunctionState& state, const syntax::Expr* expr);
std::vector<const Entity*> RangesOfIndex(const FunctionState& state, const IndexDim& dim);

/// Checks the value after `else` against the type of the elements, and returns that type.
Type CheckOtherwise(FunctionState& state, const syntax::Expr* otherwise, Type type);

}  // namespace kdl::sema
