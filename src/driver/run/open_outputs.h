#pragma once

#include <set>

#include "ir/module.h"

namespace kdl::driver {

/// Returns the program's tensors whose bits the language does not determine. The order of float
/// `atomic`s, of `atomic =` and of `atomic`s with several operators is not defined if there are
/// several cores. The result includes everything that is computed from such tensors, and everything
/// that the kernels in `open` write.
std::set<const ir::Value*> OpenTensors(const ir::Module& module, const ir::Function& program,
                                       const std::set<Name>& open = {});

/// Adds the kernels that contain matrix products whose terms the machine adds in an undocumented
/// order.
void AddKernelsOfOwnOrder(const ir::Module& tiled, std::set<Name>& kernels);

}  // namespace kdl::driver
