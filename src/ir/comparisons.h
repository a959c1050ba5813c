#pragma once

#include "ir/op.h"

namespace kdl::ir {

bool IsComparison(OpKind kind);
/// Returns the comparison that has the same result with exchanged operands, such as `gt` for `lt`.
OpKind Mirrored(OpKind comparison);
/// Returns the integer comparison that is true exactly when `comparison` is false.
OpKind Negated(OpKind comparison);

}  // namespace kdl::ir
