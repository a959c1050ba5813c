#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// The type of an expression that is a literal, or is folded to one.
Type LiteralType(bool is_float);

/// The same, with the literal and its size recorded.
Type RecordLiteral(FunctionState& state, const syntax::Expr* expr, ExprInfo& info,
                   const Literal& literal);

}  // namespace kdl::sema
