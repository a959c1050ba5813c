#pragma once

#include "ir/op.h"

namespace kdl::ir {

bool IsComparison(OpKind kind);
/// Returns the comparison that gives the same result when its two operands are exchanged.
OpKind Mirrored(OpKind comparison);
/// Returns the integer comparison that is true exactly where `comparison` is false.
OpKind Negated(OpKind comparison);

}  // namespace kdl::ir
