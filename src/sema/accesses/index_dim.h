#pragma once

#include <optional>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// An index as an affine form; nothing where it is faulty, which is reported.
std::optional<IndexDim> CheckIndexDim(FunctionState& state, const syntax::Expr* expr);
std::vector<const Entity*> RangesOfIndex(const FunctionState& state, const IndexDim& dim);

/// The value of `else` against the elements' type, which is given back.
Type CheckOtherwise(FunctionState& state, const syntax::Expr* otherwise, Type type);

}  // namespace kdl::sema
