#pragma once

#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::cpu {

/// Whether only the last elements along the axis of an elementwise loop's result are read, as in `s[c = c.start +
/// c.size - 1]`. Then the others need not be stored. If scans start from the end, that is `s[c = c.start]`.
bool IsReadOnlyAtEnd(const ir::Op* elementwise, const ir::Value* result, ir::AxisId axis,
                     ir::DirectionKind direction);

}  // namespace kdl::cpu
