#pragma once

#include "passes/pass_manager.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// Lets each core check, before a ragged walk and for each of its blocks, that its part ends no earlier than it begins,
/// and no later than the next one begins:
///
///   spmd (%e: i64 in lo .. hi) { %a = load %off[%e]; %b = load %off[%e + 1]; assert %a <= %b }
///
/// A block of no turns is checked, too. What blocks of other cores have done by then is memory of the tensors, in some order:
/// the launch fails.
void CheckThatPartsAreApart(PassContext& context, const proofs::Parts& parts);

/// Lets the cores check before the walk that its parts are together all from 0 to `size`.
void CheckThatPartsAreWhole(PassContext& context, const proofs::Parts& parts, Size size);

}  // namespace kdl::passes
