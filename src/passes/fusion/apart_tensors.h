#pragma once

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// Returns whether two slices of a tensor are known to share no element when the program reaches `op`: they have
/// different constant indices of one dimension, or the program has already checked it.
bool AreKnownApart(const Value* a, const Value* b, const Op* op);

}  // namespace kdl::passes
