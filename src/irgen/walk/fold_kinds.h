#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Helpers for the reductions of functions and of contracts.

ir::ReductionKind ReductionKindOf(sema::ReduceKind kind);
/// Returns the bits of an f32 or f64 as an integer of the same width; all NaNs have the same bits.
ir::Value* GenFloatBits(ir::Builder& b, ir::Value* value);

}  // namespace kdl::irgen
