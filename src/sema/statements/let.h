#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckLet(FunctionState& state, const syntax::LetStmt& let);

}  // namespace kdl::sema
