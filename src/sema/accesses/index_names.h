#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// The index names of a contract, while it is checked (state.contract is there).

/// A new index name, whose extent the dimensions that it indexes bare will give.
const Entity* DeclareFree(FunctionState& state, Name name, Span span);

/// A name of an `over` list, in the innermost scope.
void DeclareOver(FunctionState& state, const syntax::Ident& name);

/// The free name that `expr` is, declared where nothing has the name yet; null where it is none.
const Entity* FreeRange(FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
