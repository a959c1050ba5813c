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

/// For a kernel above loop level that only executes spmds: returns an upper bound on the number of blocks of
/// each spmd. A core whose number is not less than the largest of these bounds only does what core 0 also
/// does. Returns nothing if this is not true, or if a bound cannot be written as a size.
std::optional<std::vector<Size>> MostBlocks(const Function& kernel, SizeTable& sizes,
                                            const LeastLength& least_length);

}  // namespace kdl::ir
