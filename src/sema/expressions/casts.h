#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a cast such as `x as f32`.
Type CheckCast(FunctionState& state, const syntax::CastExpr& cast, ExprInfo& info);

}  // namespace kdl::sema
