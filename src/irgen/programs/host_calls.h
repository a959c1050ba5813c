#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Generates a call of a program by inlining its body.
void GenProgramCall(FunctionGen& gen, const sema::LaunchInfo& call);
/// Generates `copy(from, to);` or `swap(a, b);`.
void GenTensorCall(FunctionGen& gen, const sema::TensorCallInfo& call);

}  // namespace kdl::irgen
