#pragma once

#include <optional>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Whether only constants and integer parameters are in it, so that it is known when code is made.
bool IsStatic(const FunctionState& state, Size size);

/// The operation on sizes that an operator stands for, if any.
std::optional<SizeKind> SizeKindOf(syntax::BinaryOp op);

/// a - b where it is one number whatever the symbols are.
std::optional<int64_t> ConstantDifference(SizeTable& sizes, Size a, Size b);

}  // namespace kdl::sema
