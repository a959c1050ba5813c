#pragma once

#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns sequences of at least two launches with nothing between them, on the same queue and number of cores, whose
/// kernels compute each element of their outputs from the elements with the same index.
std::vector<std::vector<Op*>> FindElementwiseChains(const ir::Module& module,
                                                    const ir::Function& program);

}  // namespace kdl::passes
