#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns whether the size consists only of constants and integer parameters, and is therefore known at
/// compile time.
bool IsStatic(const FunctionState& state, Size size);

/// Returns the operation on sizes that corresponds to an operator, if any.
std::optional<SizeKind> SizeKindOf(syntax::BinaryOp op);

/// Returns a - b if the difference is the same for all values of the symbols; otherwise returns nothing.
std::optional<int64_t> ConstantDifference(SizeTable& sizes, Size a, Size b);

}  // namespace kdl::sema
