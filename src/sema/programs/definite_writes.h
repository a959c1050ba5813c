#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks that every path through a program writes all elements of its `out` parameters, and that no tensor, or
/// part of one, is read that may be unwritten. The body must have no errors and must not
/// belong to a test.
void CheckDefiniteWrites(FunctionState& state);

}  // namespace kdl::sema
