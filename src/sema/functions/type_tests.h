#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the function without its tests of types and of optional parameters: each `if T is …` is replaced by the
/// branch for the types of the instance, which must have been declared, and each `if bias` by the branch for its
/// optional parameters. Contracts of absent outputs are left out. Returns the function itself if it contains no such tests.
const syntax::FunctionItem* SelectBranches(FunctionState& state, const syntax::FunctionItem& item);

/// Returns the function with both branches of each such `if`, one after the other. Only the names in it are
/// meaningful.
const syntax::FunctionItem* WithAllBranches(Arena& arena, const syntax::FunctionItem& item);

}  // namespace kdl::sema
