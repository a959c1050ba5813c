#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks that every path through a program writes its `out` parameters completely. It must also
/// not read memory obtained by a swap before writing it. The body must have no errors and must not
/// be that of a test.
void CheckDefiniteWrites(FunctionState& state);

}  // namespace kdl::sema
