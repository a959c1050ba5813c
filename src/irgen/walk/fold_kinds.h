#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Helpers for generating reductions, both in functions and in contracts.

ir::ReductionKind ReductionKindOf(sema::ReduceKind kind);
/// Returns the bits of an f32 or f64 as an integer of the same width. All NaNs give the same bits.
ir::Value* GenFloatBits(ir::Builder& b, ir::Value* value);

}  // namespace kdl::irgen
