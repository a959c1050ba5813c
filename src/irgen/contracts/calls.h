#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

// Calls and reductions in a contract. Inside a fn of tiles, their values come from the fn's tables.

std::vector<ir::Value*> GenContractCall(FunctionGen& gen, const syntax::CallExpr& call,
                                        const sema::ExprInfo& info);
/// A reduction, or a scan or fold with a fn: returns the parts of its value.
std::vector<ir::Value*> GenContractFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);

}  // namespace kdl::irgen
