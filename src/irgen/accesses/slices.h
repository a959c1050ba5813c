#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Returns the tensor that an expression in a program names or slices.
ir::Value* GenTensor(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the index into one dimension of a program's tensor: the sum of the index's terms.
ir::Value* GenIndexSum(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
