#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// The index names of a contract. Call these only while a contract is checked (state.contract is
// set).

/// Declares a new index name. Its extent comes later, from the dimensions that it indexes on its
/// own.
const Entity* DeclareFree(FunctionState& state, Name name, Span span);

/// Declares a name of an `over` list in the innermost scope.
void DeclareOver(FunctionState& state, const syntax::Ident& name);

/// Returns the index name that `expr` is, and declares it if the name is new. Returns null if
/// `expr` is something else.
const Entity* FreeRange(FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
