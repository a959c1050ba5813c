#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the type of an expression that is a literal or can be evaluated to one.
Type LiteralType(bool is_float);

/// Records the value of a literal and its size, and returns its type.
Type RecordLiteral(FunctionState& state, const syntax::Expr* expr, ExprInfo& info,
                   const Literal& literal);

}  // namespace kdl::sema
