#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the least length of the blocks of an spmd's binder, whose type must be a block.
using LeastLength = std::function<Size(const Op* spmd, size_t binder)>;

/// Returns the exact number of blocks of the binders `from` to `to` (exclusive) of an spmd, or null if it
/// cannot be written as a size.
Size BlocksOfBinders(const Function& kernel, SizeTable& sizes, const Op* spmd, size_t from,
                     size_t to);
/// The same for all binders.
Size BlocksOfDomain(const Function& kernel, SizeTable& sizes, const Op* spmd);

/// For a kernel above loop level that only executes spmds: returns, for each spmd, an upper bound of its
/// number of blocks. Cores whose number is not below the largest of these bounds do nothing that core 0 does
/// not do as well. Returns nothing if a core may do something else, or if a bound cannot be written as a
/// size.
std::optional<std::vector<Size>> MostBlocks(const Function& kernel, SizeTable& sizes,
                                            const LeastLength& least_length);

}  // namespace kdl::ir
