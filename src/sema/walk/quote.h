#pragma once

#include <string>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the source text of an expression, truncated if it is long.
std::string Quote(const FunctionState& state, const syntax::Expr* expr);

/// Returns how to reduce a value over some of its ranges: `sum(x[i, k] over k)`, or `dot(a[i, k], b[k, j] over k)` for a
/// product whose factors have all of these ranges.
std::string ReducedText(const FunctionState& state, const syntax::Expr* value,
                        const std::vector<const Entity*>& ranges);

}  // namespace kdl::sema
