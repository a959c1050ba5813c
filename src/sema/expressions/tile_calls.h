#pragma once

#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Binds the ranges and sizes of a fn at a call whose arguments have been checked, and records them
/// in `info.call`. False, reported, where they do not fit.
bool BindCall(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
              const std::vector<const syntax::Expr*>& args, ExprInfo& info);

/// The type of such a call: the fn's result over the bound ranges, and what it is mapped over.
Type ResultOfCall(const FunctionState& state, const CheckedFunction& callee, const CallInfo& bound,
                  const std::vector<const syntax::Expr*>& args);

}  // namespace kdl::sema
