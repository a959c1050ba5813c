#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// The index names of a contract, which are declared by their use as indices, such as `i` in `y[i] ~ 2 *
// x[i]`. These functions may be called only while a contract is checked (state.contract is set).

/// Declares a new index name. The extent of the name is set later, from the dimensions that the name alone
/// indexes.
const Entity* DeclareFree(FunctionState& state, Name name, Span span);

/// Declares a name from the `over` list of a reduction in the innermost scope.
void DeclareOver(FunctionState& state, const syntax::Ident& name);

/// Returns the index name to which `expr` refers, or null if `expr` is something else. Declares the name if
/// it is new.
const Entity* FreeRange(FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
