#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Whether the op only converts an element for a reduction.
bool FitsElement(const ir::Op* op);

/// Whether a sliding window of the loaded elements may be a tile of its own. The only reader of the load,
/// possibly after conversions, must be a reduction in sequential order that always reads all elements.
bool MayShareWindow(const ir::Op* load);

/// Returns the axis whose positions the term of an index counts.
ir::AxisId AxisOfTerm(const ir::Op* sliding_window, const ir::AccessTerm& term);

/// Whether adjacent results of the `sliding_window` along `axis` are also adjacent in the window, whose
/// elements are contiguous along `window`.
bool RunsAlong(const ir::Op* sliding_window, ir::AxisId window, ir::AxisId axis);

/// Returns the `sliding_window` that makes the tile, if the tile's only reader is a reduction that can read
/// the window instead. The elements of a vector must be contiguous in the window. Otherwise returns null.
const ir::Op* SlidingWindowInPlace(const KernelShape& kernel, const ir::Value* tile,
                                   ir::AxisId window, const ir::Op* fold);

}  // namespace kdl::cpu
