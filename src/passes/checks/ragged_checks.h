#pragma once

#include "passes/pass_manager.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// Lets each core check, before a ragged loop and for each of its blocks, that the block's part does not end
/// before it begins, nor after the next part begins:
///
///   spmd (%e: i64 in lo .. hi) { %a = load %off[%e]; %b = load %off[%e + 1]; assert %a <= %b }
///
/// Parts without iterations are checked as well. If a check fails, the launch fails, but blocks of other
/// cores may have written to tensors before that.
void CheckThatPartsAreApart(PassContext& context, const proofs::Parts& parts);

/// Lets the cores check before the loop that its parts together cover everything from 0 to `size`.
void CheckThatPartsAreWhole(PassContext& context, const proofs::Parts& parts, Size size);

}  // namespace kdl::passes
