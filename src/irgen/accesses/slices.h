#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Returns the tensor of a program that an expression names or slices.
ir::Value* GenTensor(FunctionGen& gen, const syntax::Expr* expr);
/// Returns one index into a program's tensor, which is the sum of the index's terms.
ir::Value* GenIndexSum(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
