#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "passes/ranks/launch_axes.h"
#include "passes/ranks/part_kernel.h"

namespace kdl::passes {

// Kernels whose blocks reduce into tensors, and that keep the loop variables along which these tensors are distributed
// (ir/groups.h): ranks can run the blocks whose results they own, and nothing is combined among ranks.

/// Returns the axes along which a launch of the kernel is distributed, in ascending order; nothing if the kernel does not
/// keep their loop variables in each of its reductions, does anything else than to reduce into distributed tensors, or computes values that depend on the blocks of these variables.
std::optional<std::vector<LaunchAxis>> FindKeptAxes(const ir::Function& kernel,
                                                    const std::vector<RankArgument>& arguments);

/// Makes a copy of the kernel in which parameters limit these kept variables. It does not fill its `out` tensors.
PartKernel MakeKeptPart(ir::Module& module, const ir::Function& kernel,
                        const std::vector<size_t>& variables);

/// Returns the bits of an element of an `out` tensor before anything is reduced into it.
uint64_t IdentityOf(const ir::Function& kernel, size_t param);

}  // namespace kdl::passes
