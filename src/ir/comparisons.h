#pragma once

#include "ir/op.h"

namespace kdl::ir {

bool IsComparison(OpKind kind);
/// Returns the comparison that gives the same result with its operands exchanged.
OpKind Mirrored(OpKind comparison);
/// Returns the comparison of integers that is true exactly when this one is false.
OpKind Negated(OpKind comparison);

}  // namespace kdl::ir
