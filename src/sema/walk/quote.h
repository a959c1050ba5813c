#pragma once

#include <string>

#include "sema/walk/state.h"

namespace kdl::sema {

/// The source of an expression, cut where it is long.
std::string Quote(const FunctionState& state, const syntax::Expr* expr);

}  // namespace kdl::sema
