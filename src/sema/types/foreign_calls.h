#pragma once

#include <string>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns what to write instead of a call of another language's function, such as `atomicAdd(h[k], 1)`, `int(x)` or
/// `float("inf")`. Returns an empty string if the function is not known.
std::string HelpForForeignCall(const FunctionState& state, const syntax::CallExpr& call);

/// Says how to write a call such as `x.sum()`, `x.astype(np.float32)` or, if the name before the dot is unknown,
/// `np.exp(x)`.
std::string HelpForMethod(const FunctionState& state, const syntax::CallExpr& call);

/// Reports a constant of another language's library, such as `np.pi`. Returns whether it was reported.
bool ReportForeignConstant(FunctionState& state, const syntax::FieldExpr& field);

}  // namespace kdl::sema
