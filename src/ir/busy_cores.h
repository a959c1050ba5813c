#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns a lower bound on the length of the blocks of an spmd's loop variable. The type of this variable,
/// whose number is `binder`, must be a block.
using LeastLength = std::function<Size(const Op* spmd, size_t binder)>;

/// Returns the exact number of blocks over the loop variables `from` to `to` (exclusive) of an spmd. Returns
/// null if the number cannot be written as a size.
Size BlocksOfBinders(const Function& kernel, SizeTable& sizes, const Op* spmd, size_t from,
                     size_t to);
/// Returns the exact number of blocks of an spmd, or null if it cannot be written as a size.
Size BlocksOfDomain(const Function& kernel, SizeTable& sizes, const Op* spmd);

/// Returns an upper bound on the number of blocks of each spmd of a kernel, which must not be at loop level
/// yet. If the number of a core is equal to the largest bound or higher, the core has no blocks, and does
/// nothing that core 0 does not also do. Returns nothing if the kernel has effects outside of spmds, or if a
/// bound cannot be written as a size.
std::optional<std::vector<Size>> MostBlocks(const Function& kernel, SizeTable& sizes,
                                            const LeastLength& least_length);

}  // namespace kdl::ir
