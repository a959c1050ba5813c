#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the additional rules for an assignment with `atomic` or `reduce`. If the assignment is not allowed
/// here or is meaningless, reports an error and returns false.
bool CheckUpdate(FunctionState& state, const syntax::AssignStmt& assign);

/// Checks `where c` after a store or an update.
void CheckStoreCondition(FunctionState& state, const syntax::AssignStmt& assign,
                         const Type& target);

/// Decides which loops are distributed in groups of blocks: loops that contain a `reduce`, and other loops
/// over the same domain. Called when all loops are known.
void SettleGroups(FunctionState& state);

}  // namespace kdl::sema
