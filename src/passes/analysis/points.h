#pragma once

#include "passes/names.h"

namespace kdl::passes {

/// Returns the axes over which an op runs: those of its result, or all axes that a store touches.
ir::AxisList PointAxes(const ir::Op* op);

/// Returns whether an op computes each point of its tiles separately: it is elementwise, or accesses memory
/// but is not a block copy.
bool IsPointwise(const ir::Op* op);

/// Returns whether an elementwise loop can contain the op, although it reads elements of a tile at other points
/// than its own: a sliding window that no reduction reads.
bool IsNeighborRead(const ir::Op* op);

}  // namespace kdl::passes
