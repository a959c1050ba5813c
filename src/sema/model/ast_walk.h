#pragma once

#include <functional>

#include "syntax/ast.h"

namespace kdl::sema {

/// Calls `visit` for each child expression of `expr`, in source order.
void ForEachChild(const syntax::Expr* expr, const std::function<void(const syntax::Expr*)>& visit);

/// Calls `visit` for each child statement of `stmt`, in source order.
void ForEachInside(const syntax::Stmt* stmt, const std::function<void(const syntax::Stmt*)>& visit);

/// Returns whether the statement is a loop, to which `break` and `continue` statements inside it refer.
bool IsLoop(const syntax::Stmt* stmt);

/// Returns whether `test` returns true for `expr` or for an expression nested in it.
bool AnySubexpression(const syntax::Expr* expr,
                      const std::function<bool(const syntax::Expr*)>& test);

}  // namespace kdl::sema
