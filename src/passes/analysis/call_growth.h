#pragma once

#include "passes/passes.h"

namespace kdl::passes {

/// The maximum number of ops in a kernel after the fns that it calls have been inlined.
constexpr int64_t kMostInlinedOps = 200000;

/// Reports an error for each kernel that exceeds kMostInlinedOps. Only counts ops; does not inline anything.
void CheckCallGrowth(PassContext& context);

}  // namespace kdl::passes
