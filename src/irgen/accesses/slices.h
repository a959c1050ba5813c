#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Returns the tensor of a program that an expression names or slices.
ir::Value* GenTensor(FunctionGen& gen, const syntax::Expr* expr);
/// Returns an index into a program's tensor: the sum of its terms.
ir::Value* GenIndexSum(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
