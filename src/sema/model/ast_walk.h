#pragma once

#include <functional>

#include "syntax/ast.h"

namespace kdl::sema {

/// Calls `visit` for each expression directly below `expr`, in source order.
void ForEachChild(const syntax::Expr* expr, const std::function<void(const syntax::Expr*)>& visit);

/// Calls `visit` for each statement directly inside `stmt`, in source order.
void ForEachInside(const syntax::Stmt* stmt, const std::function<void(const syntax::Stmt*)>& visit);

/// Whether the statement is a loop, to which the `break` and `continue` statements inside it refer.
bool IsLoop(const syntax::Stmt* stmt);

/// Whether `test` returns true for `expr` or an expression below it.
bool AnySubexpression(const syntax::Expr* expr,
                      const std::function<bool(const syntax::Expr*)>& test);

}  // namespace kdl::sema
