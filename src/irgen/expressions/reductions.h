#pragma once

#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

ir::Value* GenReduce(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// Generates a reduction or scan with a fn, and returns one value for each element of a tuple.
std::vector<ir::Value*> GenUserFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// Generates `into += dot(…)`. Sema must have marked this statement as accumulating in place.
ir::Value* GenContractInto(FunctionGen& gen, const syntax::ReduceExpr& dot, ir::Value* into);

}  // namespace kdl::irgen
