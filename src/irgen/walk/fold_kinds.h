#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// What reductions of functions and of contracts share.

ir::ReductionKind FoldOf(sema::ReduceKind kind);
/// The bits of an f32 or f64, as an integer of as many: all NaNs have the same ones.
ir::Value* BitsOf(ir::Builder& b, ir::Value* value);

}  // namespace kdl::irgen
