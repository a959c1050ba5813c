#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// What an `atomic` or `reduce` before an assignment asks of it, beyond what all stores do. False, reported: it cannot
/// stand here or has no meaning.
bool CheckUpdate(FunctionState& state, const syntax::AssignStmt& assign);

/// `where c` after a store or an update.
void CheckStoreCondition(FunctionState& state, const syntax::AssignStmt& assign,
                         const Type& target);

/// Once all loops are known: which ones are dealt in groups of blocks, since a `reduce` stands in them or in another one
/// over the same domain.
void SettleGroups(FunctionState& state);

}  // namespace kdl::sema
