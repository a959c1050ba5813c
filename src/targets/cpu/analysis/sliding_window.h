#pragma once

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Makes an element as a fold takes it.
bool FitsElement(const ir::Op* op);

/// Whether a window of what is loaded may be a tile of its own: a fold in one chain alone reads it, if fitted, and all its
/// elements whatever happens.
bool MayShareWindow(const ir::Op* load);

/// The axis of which the term counts the positions.
ir::AxisId AxisOfTerm(const ir::Op* sliding_window, const ir::AccessTerm& term);

/// Whether what a slide gives for neighbours along `axis` are neighbours in the window, whose elements lie side by side along
/// `window`.
bool RunsAlong(const ir::Op* sliding_window, ir::AxisId window, ir::AxisId axis);

/// The slide that makes the tile, where the fold, its only reader, reads the window in its place: what becomes vectors lies
/// side by side there. Else null.
const ir::Op* SlidingWindowInPlace(const KernelShape& kernel, const ir::Value* tile,
                                   ir::AxisId window, const ir::Op* fold);

}  // namespace kdl::cpu
