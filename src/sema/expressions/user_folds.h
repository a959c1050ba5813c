#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Whether `with f init v` stands where a reduction takes it, and only there; reported.
bool CheckFoldWords(FunctionState& state, const syntax::ReduceExpr& reduce, bool own);
/// The operand of `reduce` and `scan`, with the fn and what it starts from. The fn's type, over the operand's ranges.
Type CheckUserFold(FunctionState& state, const syntax::ReduceExpr& reduce, ExprInfo& info);

}  // namespace kdl::sema
