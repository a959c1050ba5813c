#pragma once

#include "sema/state.h"

namespace kdl::sema {

/// Checks the statements in a scope of their own.
void CheckBlock(FunctionState& state, const syntax::BlockStmt& block);

/// The body of a fn, kernel or program.
void CheckBody(FunctionState& state);

/// Whether what an expression is differs from core to core.
bool DependsOnCore(FunctionState& state, const syntax::Expr* expr);

// The kinds that have files of their own.
void CheckFor(FunctionState& state, const syntax::ForStmt& loop);
void CheckRange(FunctionState& state, const syntax::RangeStmt& range);
void CheckLaunch(FunctionState& state, const syntax::LaunchStmt& launch);
void CheckAssign(FunctionState& state, const syntax::AssignStmt& assign);

}  // namespace kdl::sema
