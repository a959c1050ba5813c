#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

void CheckView(FunctionState& state, const syntax::ViewStmt& view);

}  // namespace kdl::sema
