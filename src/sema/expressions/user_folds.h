#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks that `with f init v` is given where it is required, and nowhere else. Reports an error and
/// returns false otherwise.
bool CheckFoldWords(FunctionState& state, const syntax::ReduceExpr& reduce, bool own);
/// Checks the operand of `reduce` or `scan`, its fn and its initial value. Returns the type of the fn's
/// result, but with all ranges of the operand.
Type CheckUserFold(FunctionState& state, const syntax::ReduceExpr& reduce, ExprInfo& info);

}  // namespace kdl::sema
