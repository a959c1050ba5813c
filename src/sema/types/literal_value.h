#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Evaluates an expression of literals and consts, such as a default value or one of the allowed values.
/// Reports other expressions.
std::optional<Literal> EvaluateLiteral(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what);

/// Evaluates such an expression of integers. Reports others.
std::optional<int64_t> EvaluateInteger(FunctionState& state, const syntax::Expr* expr,
                                       std::string_view what);

}  // namespace kdl::sema
