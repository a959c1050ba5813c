#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckLaunch(FunctionState& state, const syntax::LaunchStmt& launch);

/// Binds the arguments, sizes and integer parameters of a kernel or program for the launch or call that
/// names it. Reports an error and returns false if they do not fit.
bool BindCallee(FunctionState& state, const syntax::CallExpr& call, const Entity* callee,
                LaunchInfo& launch);

}  // namespace kdl::sema
