#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// A called program becomes a part of its caller.
void GenProgramCall(FunctionGen& gen, const sema::LaunchInfo& call);
/// `copy(from, to);`, `swap(a, b);`.
void GenTensorCall(FunctionGen& gen, const sema::TensorCallInfo& call);

}  // namespace kdl::irgen
