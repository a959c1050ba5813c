#pragma once

#include "ir/module.h"

namespace kdl::passes {

/// Removes the mask of a load. The load then has only the axes of its indices. Ops that compute with it lose the
/// mask's axes, too, unless other operands have them.
///
///   %a = load %x[%j, %d] where %le : tile<f32; i j d>    ->   %a = load %x[%j, %d] : tile<f32; j d>
///   %c = contraction %q, %a over d : tile<f32; i j>           %c = contraction %q, %a over d : tile<f32; i j>
void Unmask(ir::Module& module, ir::Op* load, const ir::AxisList& axes);

}  // namespace kdl::passes
