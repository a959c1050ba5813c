#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// The least length of the blocks of an spmd's binder, which is a block.
using LeastLength = std::function<Size(const Op* spmd, size_t binder)>;

/// The blocks that binders `from` up to `to` of an spmd make, exactly; null where no size says so.
Size BlocksOfBinders(const Function& kernel, SizeTable& sizes, const Op* spmd, size_t from,
                     size_t to);
/// The same of all binders.
Size BlocksOfDomain(const Function& kernel, SizeTable& sizes, const Op* spmd);

/// For a kernel, above loop level, that does nothing but blocks: for each spmd a size that is no smaller than the number of its
/// blocks. Cores from the largest of them on do what every core does, which is nothing that core 0 has not done.
/// Nothing where a core may do something else, or a number of blocks is no size.
std::optional<std::vector<Size>> MostBlocks(const Function& kernel, SizeTable& sizes,
                                            const LeastLength& least_length);

}  // namespace kdl::ir
