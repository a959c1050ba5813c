#pragma once

#include <string>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the import to which an expression refers, such as `nn` in `nn.relu(x)`, or null.
const Entity* ImportOf(const FunctionState& state, const syntax::Expr* expr);

/// Returns the item of the imported file that `member` names. If there is none, reports an error and returns
/// null.
const Entity* ResolveMember(FunctionState& state, const Entity& import,
                            const syntax::Ident& member);

/// Returns the function that a call or launch names, in an imported file or in scope. Reports an error and
/// returns null if there is none.
const Entity* ResolveCallee(FunctionState& state, const syntax::CallExpr& call);

/// Returns the callee as it is written, such as `nn.relu`.
std::string CalleeText(const FunctionState& state, const syntax::CallExpr& call);

}  // namespace kdl::sema
