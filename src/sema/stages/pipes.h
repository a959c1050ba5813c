#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckPipe(FunctionState& state, const syntax::PipeStmt& stmt);

/// Checks `q.push(tile, i, j)`, `q.pop(i, j)` and other calls of that form.
Type CheckMethod(FunctionState& state, const syntax::CallExpr& call, ExprInfo& info);

/// Records that the current statement uses an end of the pipe that `expr` names. Reports the use of
/// the wrong end of a fn's pipe, a use outside of stages, and the use of an end that another stage
/// already uses.
bool UseEnd(FunctionState& state, const syntax::Expr* expr, syntax::Direction end);

}  // namespace kdl::sema
