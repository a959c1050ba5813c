#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Whether the op only converts an element for a reduction.
bool FitsElement(const ir::Op* op);

/// Whether a sliding window of the loaded elements may be a tile of its own. The only reader must be a
/// reduction in sequential order, possibly after conversions, that always reads all elements.
bool MayShareWindow(const ir::Op* load);

/// Returns the axis whose positions the term counts.
ir::AxisId AxisOfTerm(const ir::Op* sliding_window, const ir::AccessTerm& term);

/// Whether results of the `sliding_window` that are neighbours along `axis` are neighbours in the window, too. The
/// window's elements are contiguous along `window`.
bool RunsAlong(const ir::Op* sliding_window, ir::AxisId window, ir::AxisId axis);

/// Returns the `sliding_window` that makes the tile, if the reduction that is its only reader can read the window
/// instead, because elements of a vector are contiguous there. Otherwise returns null.
const ir::Op* SlidingWindowInPlace(const KernelShape& kernel, const ir::Value* tile,
                                   ir::AxisId window, const ir::Op* fold);

}  // namespace kdl::cpu
