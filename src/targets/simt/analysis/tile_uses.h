#pragma once

#include <map>
#include <optional>

#include "ir/lane_map.h"

namespace kdl::simt {

// Determines how the ops of a kernel produce, read and pass on tiles.

/// A thread layout by axis. An op's axes may be in another order than a tile's axes.
using AxisMap = std::map<ir::AxisId, ir::AxisDigits>;
AxisMap AxisMapOf(const ir::Op& op);

bool IsTileValue(const ir::Value* value);
/// Whether the op passes tiles into and out of its regions unchanged.
bool HandsOn(const ir::Op* op);
/// Whether `elementwise`, an elementwise loop, reads the tile of the op `element` only at its own point.
bool ReadsOwnPoints(const ir::Op* elementwise, const ir::Op* element);
/// If an elementwise loop loads the tile from a tensor, returns the axis along which the tile's elements are
/// contiguous in the tensor.
std::optional<ir::AxisId> LoadedAlong(const ir::Value* tile);
/// Whether several points of the elementwise loop may update the same element. The values are then combined
/// in order.
bool UpdatesInOrder(const ir::Op* elementwise);
/// Whether the op reduces one of two axes and gives bitwise identical results in any order.
bool FoldsInAnyOrder(const ir::Op* op);
/// Returns the enclosing elementwise loop, or null.
const ir::Op* ElementwiseLoopAround(const ir::Op* op);

/// Returns the axes of the tile that a load or store moves, in the order of its indices, outermost first.
ir::AxisList IndexedAxes(const ir::Op* access);

}  // namespace kdl::simt
