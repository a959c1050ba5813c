#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks that a `fuse` contains at least two launches, all on one queue of one device. Each launch is checked
/// like any other, by CheckLaunch.
void CheckFuse(FunctionState& state, const syntax::BlockStmt& fuse);

}  // namespace kdl::sema
