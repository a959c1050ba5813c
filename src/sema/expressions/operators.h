#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

Type CheckUnary(FunctionState& state, const syntax::UnaryExpr& unary, ExprInfo& info);
Type CheckBinary(FunctionState& state, const syntax::BinaryExpr& binary, ExprInfo& info);

}  // namespace kdl::sema
