#pragma once

#include <string>

#include "sema/walk/state.h"

namespace kdl::sema {

/// The import that an expression names, `nn` of `nn.relu(x)`, or null.
const Entity* ImportOf(const FunctionState& state, const syntax::Expr* expr);

/// What `member` is in the imported file; null, reported, where it exports no such thing.
const Entity* ResolveMember(FunctionState& state, const Entity& import,
                            const syntax::Ident& member);

/// What a call or a launch names: an item of an imported file, or what is in scope; null, reported.
const Entity* ResolveCallee(FunctionState& state, const syntax::CallExpr& call);

/// What is called as it is written: `nn.relu`.
std::string CalleeText(const FunctionState& state, const syntax::CallExpr& call);

}  // namespace kdl::sema
