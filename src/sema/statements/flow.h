#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Open and close the check of a loop's body, whose jumps refer to this loop. Its bounds or
/// condition must have been recorded.
void OpenLoop(FunctionState& state, bool is_spmd);
void CloseLoop(FunctionState& state);

void CheckWhile(FunctionState& state, const syntax::WhileStmt& loop);
/// Checks `break` or `continue`.
void CheckJump(FunctionState& state, const syntax::Stmt* jump);

}  // namespace kdl::sema
