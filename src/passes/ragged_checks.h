#pragma once

#include "passes/analysis/ragged.h"
#include "passes/pass_manager.h"

namespace kdl::passes {

/// Lets each core check, in front of a ragged walk and for each of its blocks, that the table ascends there:
///
///   spmd (%e: i64 in lo .. hi) { %a = load %off[%e]; %b = load %off[%e + 1]; assert %a <= %b }
///
/// Once for each walk and table; a block of no turns is checked, too. What blocks of other cores have done by then is memory of
/// the tensors, in some order: the launch fails.
void CheckThatItAscends(PassContext& context, const Ragged& ragged);

/// Lets core 0 check in front of the walk that its parts are all from 0 to `size`.
void CheckThatItIsWhole(PassContext& context, const Ragged& ragged, Size size);

}  // namespace kdl::passes
