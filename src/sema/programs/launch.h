#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckLaunch(FunctionState& state, const syntax::LaunchStmt& launch);

/// What a launch or call gives the kernel or program that it names: arguments, sizes, integer parameters. False, reported,
/// where that does not fit.
bool BindCallee(FunctionState& state, const syntax::CallExpr& call, const Entity* callee,
                LaunchInfo& launch);

}  // namespace kdl::sema
