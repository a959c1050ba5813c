#pragma once

#include <map>
#include <optional>

#include "ir/lane_map.h"

namespace kdl::simt {

// How the ops of a kernel produce, read and pass on tiles.

/// A thread layout by axis, because an op's axes may be in another order than a tile's.
using AxisMap = std::map<ir::AxisId, ir::AxisDigits>;
AxisMap AxisMapOf(const ir::Op& op);

bool IsTileValue(const ir::Value* value);
/// Whether tiles pass into and out of the op's regions unchanged.
bool HandsOn(const ir::Op* op);
/// Whether the elementwise loop `elementwise` reads the tile of the op `element` only at its own point.
bool ReadsOwnPoints(const ir::Op* elementwise, const ir::Op* element);
/// If an elementwise loop loads the tile from a tensor, returns the axis along which its elements are
/// contiguous there.
std::optional<ir::AxisId> LoadedAlong(const ir::Value* tile);
/// Whether several points of the elementwise loop may update the same element, which then combines their
/// values in order.
bool UpdatesInOrder(const ir::Op* elementwise);
/// Whether the op reduces one of two axes and gives the same bits in any order.
bool FoldsInAnyOrder(const ir::Op* op);
/// Returns the enclosing elementwise loop, or null.
const ir::Op* ElementwiseLoopAround(const ir::Op* op);

/// Returns the axes of the tile that a load or store moves, in the order of its indices, outermost first.
ir::AxisList IndexedAxes(const ir::Op* access);

}  // namespace kdl::simt
