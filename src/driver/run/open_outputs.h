#pragma once

#include <set>

#include "ir/module.h"

namespace kdl::driver {

/// Returns the program's tensors whose bits the language does not determine. On several cores, the
/// order of updates is not defined for `atomic`s on floats, for `atomic =`, and for memory that
/// `atomic`s update with several operators. The result includes everything that is computed from
/// such tensors, and everything that the kernels in `open` write, since their results are not
/// determined either.
std::set<const ir::Value*> OpenTensors(const ir::Module& module, const ir::Function& program,
                                       const std::set<Name>& open = {});

/// Adds to `kernels` those kernels whose matrix products are summed by the hardware in an
/// undocumented order.
void AddKernelsOfOwnOrder(const ir::Module& tiled, std::set<Name>& kernels);

}  // namespace kdl::driver
