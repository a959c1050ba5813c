#pragma once

#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

ir::Value* GenReduce(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// `reduce` or `scan` with a fn: a value for each part.
std::vector<ir::Value*> GenUserFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// `into += dot(…)`, marked in place by sema.
ir::Value* GenContractInto(FunctionGen& gen, const syntax::ReduceExpr& dot, ir::Value* into);

}  // namespace kdl::irgen
