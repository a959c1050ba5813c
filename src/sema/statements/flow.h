#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Around the check of a loop's body, its own conditions and bounds recorded: jumps in it are the loop's.
void OpenLoop(FunctionState& state, bool is_spmd);
void CloseLoop(FunctionState& state);

void CheckWhile(FunctionState& state, const syntax::WhileStmt& loop);
/// `break` and `continue`.
void CheckJump(FunctionState& state, const syntax::Stmt* jump);

}  // namespace kdl::sema
