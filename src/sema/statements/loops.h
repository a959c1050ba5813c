#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckFor(FunctionState& state, const syntax::ForStmt& loop);
void CheckDomain(FunctionState& state, const syntax::DomainStmt& stmt);

/// Decides which `@dynamic` loops use dynamic scheduling. Called when all loops are known.
void SettleDynamic(FunctionState& state);

}  // namespace kdl::sema
