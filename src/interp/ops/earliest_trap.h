#pragma once

#include "interp/core.h"

namespace kdl::interp {

/// Must be called after the core has trapped. If that was in a fn that is mapped over a tile, the core runs on with the
/// next element, and the trap is the core's `earliest`.
void SeekEarlierTrap(Core& core);

/// Must be called before an op while `earliest` is set. If the op comes no earlier than that trap, goes on with the next
/// element, or stops the core with the trap, and returns true.
bool SkipsElement(Core& core);

}  // namespace kdl::interp
