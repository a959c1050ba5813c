#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckFor(FunctionState& state, const syntax::ForStmt& loop);
void CheckRange(FunctionState& state, const syntax::RangeStmt& range);
void CheckDomain(FunctionState& state, const syntax::DomainStmt& stmt);

/// Decides, once all loops are known, which `@dynamic` ones hand their blocks to whoever is free.
void SettleDynamic(FunctionState& state);

}  // namespace kdl::sema
