#pragma once

#include "ir/op.h"

namespace kdl::ir {

bool IsComparison(OpKind kind);
/// The comparison with its sides exchanged.
OpKind Mirrored(OpKind comparison);
/// What holds of integers where the comparison does not.
OpKind Negated(OpKind comparison);

}  // namespace kdl::ir
