#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

// What a contract calls and folds: in a fn of tiles it is asked of the fn's tables.

std::vector<ir::Value*> GenContractCall(FunctionGen& gen, const syntax::CallExpr& call,
                                        const sema::ExprInfo& info);
/// A reduction, scan or fold with a fn: its parts.
std::vector<ir::Value*> GenContractFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);

}  // namespace kdl::irgen
