#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Loads an element of 4 bits, whose byte is in `tensor`; `at` is its index along the last dimension. The result is an
/// i8, u8 or f32.
ir::Value* GenFourBitLoad(FunctionGen& gen, const syntax::IndexExpr& expr, ir::Value* tensor,
                          ir::Value* at);

}  // namespace kdl::irgen
