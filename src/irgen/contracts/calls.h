#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

// Generates a call in a contract. Inside a fn of tiles, the value of a call or reduction is read from the
// fn's tables.

std::vector<ir::Value*> GenContractCall(FunctionGen& gen, const syntax::CallExpr& call,
                                        const sema::ExprInfo& info);
/// Generates a reduction, or a scan or fold with a fn, and returns the parts of its value.
std::vector<ir::Value*> GenContractFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);

}  // namespace kdl::irgen
