#pragma once

#include "sema/state.h"

namespace kdl::sema {

void CheckPipe(FunctionState& state, const syntax::PipeStmt& stmt);

/// `q.push(tile, i, j)`, `q.pop(i, j)`, and what looks like them.
Type CheckMethod(FunctionState& state, const syntax::CallExpr& call, ExprInfo& info);

/// Reports pushes and pops of a checked statement that do not run exactly once with it.
void CheckPipePlaces(FunctionState& state, const syntax::Stmt* stmt);

}  // namespace kdl::sema
