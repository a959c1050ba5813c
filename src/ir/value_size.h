#pragma once

#include "ir/module.h"

namespace kdl::ir {

/// The value as a size over the function's dims, which a launch may compute. Null: it is none, or the size may divide by zero:
/// the op may stand under a condition that excludes this, and a launch computes its sizes whatever the conditions are.
Size SizeOfValue(const Function& function, SizeTable& sizes, const Value* value);

}  // namespace kdl::ir
