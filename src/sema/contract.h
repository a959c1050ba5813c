#pragma once

#include "sema/state.h"

namespace kdl::sema {

/// `requires` and `ensures` of a kernel.
void CheckContracts(FunctionState& state);

/// `expect` of a test.
void CheckExpect(FunctionState& state, const syntax::ExpectStmt& expect);

// While a contract is checked (state.contract is there):

/// A new index name, whose extent the dimensions that it indexes bare will give.
const Entity* DeclareFree(FunctionState& state, Name name, Span span);

/// A name of an `over` list, in the innermost scope.
void DeclareOver(FunctionState& state, const syntax::Ident& name);

/// The free name that `expr` is, declared where nothing has the name yet; null where it is none.
const Entity* FreeRange(FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
