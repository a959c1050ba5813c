#pragma once

#include <map>
#include <optional>

#include "ir/lane_map.h"

namespace kdl::simt {

// How ops of a kernel make, read and hand on tiles.

/// A map by axis: an op's axes may come in another order than a tile's.
using AxisMap = std::map<ir::AxisId, ir::AxisDigits>;
AxisMap AxisMapOf(const ir::Op& op);

bool IsTileValue(const ir::Value* value);
/// Whether tiles go into the op's regions and come out of it as they are.
bool HandsOn(const ir::Op* op);
/// Whether the op in the elementwise loop reads each element of its tile at the elementwise loop's own point only.
bool ReadsOwnPoints(const ir::Op* elementwise, const ir::Op* element);
/// The axis of which the tile's elements are side by side in the tensor that a elementwise loop loads them from; else nothing.
std::optional<ir::AxisId> LoadedAlong(const ir::Value* tile);
/// Whether several points of the elementwise loop may update one element, which then takes their values in order.
bool UpdatesInOrder(const ir::Op* elementwise);
/// Whether the op folds one of two axes to the same bits in any order.
bool FoldsInAnyOrder(const ir::Op* op);
/// The elementwise loop around; null: none.
const ir::Op* ElementwiseLoopAround(const ir::Op* op);

/// The axes of a tile that a load or store moves, as its index has them, outermost first.
ir::AxisList IndexedAxes(const ir::Op* access);

}  // namespace kdl::simt
