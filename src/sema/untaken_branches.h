#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks the names in all branches of `if T is …`, also in those that no instance of the function takes.
/// Reports names that are unknown. The instances must have been checked.
void CheckUntakenBranches(ModuleState& module, FunctionGroup& group);

}  // namespace kdl::sema
