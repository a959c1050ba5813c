#pragma once

#include "passes/names.h"

namespace kdl::passes {

/// The axes that an op walks: its result's, or all of what a store touches.
ir::AxisList PointAxes(const ir::Op* op);

/// Whether an op works point by point on tiles with axes: elementwise, or an access to memory that is no block copy.
bool IsPointwise(const ir::Op* op);

}  // namespace kdl::passes
