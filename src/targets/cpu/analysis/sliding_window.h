#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Whether the op only converts an element for a reduction: a cast or a flush of subnormals.
bool FitsElement(const ir::Op* op);

/// Whether a sliding window of the loaded elements may be a tile of its own. The only reader of the load,
/// possibly after conversions, must be a reduction in sequential order that always reads all elements.
bool MayShareWindow(const ir::Op* load);

/// Returns the axis of the block to which a term of the index refers.
ir::AxisId AxisOfTerm(const ir::Op* sliding_window, const ir::AccessTerm& term);

/// Whether adjacent results of the `sliding_window` along `axis` are also adjacent in the window, whose
/// elements are contiguous along `window`.
bool RunsAlong(const ir::Op* sliding_window, ir::AxisId window, ir::AxisId axis);

/// If the tile is made by a `sliding_window`, and its only reader is a reduction that can read the window
/// instead, returns that `sliding_window`. Otherwise returns null. The reduction can read the window if the
/// elements of each vector are contiguous in the window.
const ir::Op* SlidingWindowInPlace(const KernelShape& kernel, const ir::Value* tile,
                                   ir::AxisId window, const ir::Op* fold);

}  // namespace kdl::cpu
