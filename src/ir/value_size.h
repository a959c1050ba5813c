#pragma once

#include "ir/module.h"

namespace kdl::ir {

/// Returns the value as a size over the function's dims that a launch can compute; null if there is none.
/// Also returns null if the size may divide by zero: a condition around the op may exclude this case, but a
/// launch computes the size regardless of conditions.
Size SizeOfValue(const Function& function, SizeTable& sizes, const Value* value);

}  // namespace kdl::ir
