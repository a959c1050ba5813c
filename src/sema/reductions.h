#pragma once

#include <optional>
#include <string_view>

#include "sema/state.h"

namespace kdl::sema {

/// A reduction or scan by a name of the language.
std::optional<ReduceKind> FindReduction(std::string_view spelling);

// user_folds.cpp
/// Whether `with f init v` stands where a reduction takes it, and only there; reported.
bool CheckFoldWords(FunctionState& state, const syntax::ReduceExpr& reduce, bool own);
/// The operand of `reduce` and `scan`, with the fn and what it starts from. The fn's type, over the operand's ranges.
Type CheckUserFold(FunctionState& state, const syntax::ReduceExpr& reduce, ExprInfo& info);

}  // namespace kdl::sema
