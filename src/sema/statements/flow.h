#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// OpenLoop must be called before a loop's body is checked, and CloseLoop afterwards. In between, jumps refer
/// to this loop. The bounds or condition of the loop must already have been recorded.
void OpenLoop(FunctionState& state, bool is_spmd);
void CloseLoop(FunctionState& state);

void CheckWhile(FunctionState& state, const syntax::WhileStmt& loop);
/// Checks `break` or `continue`.
void CheckJump(FunctionState& state, const syntax::Stmt* jump);

}  // namespace kdl::sema
