#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks that every path through a program writes all elements of its `out` parameters. Also checks that
/// memory obtained by a swap is not read before it is written. The body must have no errors and must not
/// belong to a test.
void CheckDefiniteWrites(FunctionState& state);

}  // namespace kdl::sema
