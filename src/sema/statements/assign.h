#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckAssign(FunctionState& state, const syntax::AssignStmt& assign);

}  // namespace kdl::sema
