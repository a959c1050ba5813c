#pragma once

#include <map>
#include <optional>

#include "ir/lane_map.h"

namespace kdl::simt {

// Determines how the ops of a kernel produce, read and pass on tiles.

/// A thread layout, by axis. The axes of an op may have a different order than the axes of a tile.
using AxisMap = std::map<ir::AxisId, ir::AxisDigits>;
AxisMap AxisMapOf(const ir::Op& op);

bool IsTileValue(const ir::Value* value);
/// Returns whether the op passes tiles into and out of its regions unchanged.
bool HandsOn(const ir::Op* op);
/// Returns whether the op `element`, inside the elementwise loop `elementwise`, reads its tile only at the
/// point that the loop computes.
bool ReadsOwnPoints(const ir::Op* elementwise, const ir::Op* element);
/// If an elementwise loop loads the tile from a tensor, returns the axis along which the tile's elements are
/// contiguous in the tensor. Otherwise returns nothing.
std::optional<ir::AxisId> LoadedAlong(const ir::Value* tile);
/// Returns whether each iteration of a loop makes the tile, and only elementwise loops read it, in which adjacent
/// threads read elements that are adjacent along the axis.
bool IsStreamedAlong(const ir::Value* tile, ir::AxisId axis);
/// Returns whether each iteration of a loop makes the tile, which has one axis, and only elementwise loops read it.
bool IsRowOfIteration(const ir::Value* tile);
/// Returns whether several points of the elementwise loop may update the same element. If so, the values must
/// be combined in order.
bool UpdatesInOrder(const ir::Op* elementwise);
/// Returns whether the op reduces one axis of a tile with two axes, and gives bitwise identical results in
/// any order.
bool FoldsInAnyOrder(const ir::Op* op);
/// Returns the enclosing elementwise loop, or null.
const ir::Op* ElementwiseLoopAround(const ir::Op* op);

/// Returns the axes of the tile that a load or store moves, in the order of the op's indices, outermost
/// first.
ir::AxisList IndexedAxes(const ir::Op* access);

}  // namespace kdl::simt
