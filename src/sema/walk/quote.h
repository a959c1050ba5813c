#pragma once

#include <string>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the source text of an expression, truncated if it is long.
std::string Quote(const FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
