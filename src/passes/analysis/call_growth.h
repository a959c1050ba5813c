#pragma once

#include "passes/passes.h"

namespace kdl::passes {

/// The largest number of operations that a kernel may have after inlining the fns that it calls.
constexpr int64_t kMostInlinedOps = 200000;

/// Reports kernels that exceed kMostInlinedOps. Only counts ops; inlines nothing.
void CheckCallGrowth(PassContext& context);

}  // namespace kdl::passes
