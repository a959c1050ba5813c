#pragma once

#include <optional>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a reduction or scan.
Type CheckReduce(FunctionState& state, const syntax::ReduceExpr& reduce, ExprInfo& info);

}  // namespace kdl::sema
