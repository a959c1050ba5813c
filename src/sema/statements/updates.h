#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the additional rules for `atomic` or `reduce` before an assignment. Returns false if it
/// is not allowed here or has no meaning, which is reported.
bool CheckUpdate(FunctionState& state, const syntax::AssignStmt& assign);

/// Checks `where c` after a store or an update.
void CheckStoreCondition(FunctionState& state, const syntax::AssignStmt& assign,
                         const Type& target);

/// Decides, when all loops are known, which loops are distributed in groups of blocks: those that
/// contain a `reduce`, and other loops over the same domain.
void SettleGroups(FunctionState& state);

}  // namespace kdl::sema
