#pragma once

#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Binds the ranges and sizes of a fn for a call whose arguments have already been checked, and records
/// them in `info.call`. Reports an error and returns false if they do not fit.
bool BindCall(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
              const std::vector<const syntax::Expr*>& args, ExprInfo& info);

/// Returns the type of the call: that of the fn's result, with the bound ranges and the ranges over which
/// the call is mapped.
Type ResultOfCall(const FunctionState& state, const CheckedFunction& callee, const CallInfo& bound,
                  const std::vector<const syntax::Expr*>& args);

}  // namespace kdl::sema
