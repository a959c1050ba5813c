#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckPipe(FunctionState& state, const syntax::PipeStmt& stmt);

/// `q.push(tile, i, j)`, `q.pop(i, j)`, and what looks like them.
Type CheckMethod(FunctionState& state, const syntax::CallExpr& call, ExprInfo& info);

/// Notes that the statement around uses an end of the pipe that `expr` names; reports the wrong end of
/// a fn's pipe, a place outside of stages, and an end that another stage has.
bool UseEnd(FunctionState& state, const syntax::Expr* expr, syntax::Direction end);

}  // namespace kdl::sema
