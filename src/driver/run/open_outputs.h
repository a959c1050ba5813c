#pragma once

#include <set>

#include "ir/module.h"

namespace kdl::driver {

/// The program's tensors whose bits the language leaves open: float `atomic`, `atomic =` and `atomic` with several operators on
/// several cores have no order.
/// So is what a kernel or the program computes from them, and all that the kernels make that are `open`.
std::set<const ir::Value*> OpenTensors(const ir::Module& module, const ir::Function& program,
                                       const std::set<Name>& open = {});

/// Adds the kernels with products of which no one has written down in which order the machine adds their terms.
void AddKernelsOfOwnOrder(const ir::Module& tiled, std::set<Name>& kernels);

}  // namespace kdl::driver
