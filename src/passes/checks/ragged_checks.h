#pragma once

#include "passes/pass_manager.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// Inserts a check before a ragged loop, which is an spmd whose blocks handle parts with bounds from tables.
/// For each of its blocks, a core checks that the part ends neither before it begins nor after the next part
/// begins:
///
///   spmd (%e: i64 in lo .. hi) { %a = load %off[%e]; %b = load %off[%e + 1]; assert %a <= %b }
///
/// Parts without iterations are checked as well. If a check fails, the launch fails, but other cores may
/// already have written to tensors.
void CheckThatPartsAreApart(PassContext& context, const proofs::Parts& parts);

/// Inserts a check before a ragged loop: its parts together must cover everything from 0 to `size`.
void CheckThatPartsAreWhole(PassContext& context, const proofs::Parts& parts, Size size);

}  // namespace kdl::passes
