#pragma once

#include <optional>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// The value of an expression of literals and consts; a default, a choice. Reports others.
std::optional<Literal> EvaluateLiteral(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what);

}  // namespace kdl::sema
