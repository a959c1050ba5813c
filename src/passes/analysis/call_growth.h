#pragma once

#include "passes/passes.h"

namespace kdl::passes {

/// The most operations that a kernel may have with the bodies of the fns that it calls in place of the calls.
constexpr int64_t kMostInlinedOps = 200000;

/// Each kernel stays within that. Counts, and copies nothing.
void CheckCallGrowth(PassContext& context);

}  // namespace kdl::passes
