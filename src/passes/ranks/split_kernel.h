#pragma once

#include <optional>

#include "ir/module.h"

namespace kdl::passes {

/// Two kernels that do the work of one whose blocks store elements and also reduce. Ranks share the two in different ways: they
/// store what they own, but combine segments of blocks that do not depend on the number of ranks (ir/groups.h).
///
///   kernel @step(%u in, %v out, %c out)              spmd { %x = … ; store %x to %v[%i] ; update %c[0] with %x }
///   -> kernel @step_stores(%u in, %v out, %c in)     spmd { %x = … ; store %x to %v[%i] }
///      kernel @step_reduces(%u in, %v in, %c out)    spmd { %x = … ; update %c[0] with %x }
///
/// Each one has all parameters, of which it reads those of the other one as little as it writes them.
struct SplitKernel {
  ir::Function* stores = nullptr;
  ir::Function* reduces = nullptr;
};

/// Makes the two kernels. Returns nothing if the kernel does not do both, or if it does anything else: then its order matters, as
/// if it reads what it stores.
std::optional<SplitKernel> SplitStoresFromReductions(ir::Module& module,
                                                     const ir::Function& kernel);

}  // namespace kdl::passes
