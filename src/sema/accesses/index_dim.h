#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns an index as an affine form, or nothing if it has an error, which is reported.
std::optional<IndexDim> CheckIndexDim(FunctionState& state, const syntax::Expr* expr);
std::vector<const Entity*> RangesOfIndex(const FunctionState& state, const IndexDim& dim);

/// Checks the value of `else` against the type of the elements, and returns this type.
Type CheckOtherwise(FunctionState& state, const syntax::Expr* otherwise, Type type);

}  // namespace kdl::sema
