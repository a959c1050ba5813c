#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the function without its tests of types: each `if T is …` is replaced by the branch for the types of
/// the instance, which must have been declared. Returns the function itself if it contains no such tests.
const syntax::FunctionItem* SelectBranches(FunctionState& state, const syntax::FunctionItem& item);

/// Returns the function with both branches of each `if T is …`, one after the other. Only the names in it are
/// meaningful.
const syntax::FunctionItem* WithAllBranches(Arena& arena, const syntax::FunctionItem& item);

}  // namespace kdl::sema
