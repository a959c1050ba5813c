#pragma once

#include <optional>
#include <string_view>

#include "sema/walk/state.h"

namespace kdl::sema {

/// A reduction or scan.
Type CheckReduce(FunctionState& state, const syntax::ReduceExpr& reduce, ExprInfo& info);

}  // namespace kdl::sema
