#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// A tensor of a program that an expression names, or is a part of.
ir::Value* GenTensor(FunctionGen& gen, const syntax::Expr* expr);
/// An index of a program's tensor: the sum of its terms.
ir::Value* GenIndexSum(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
