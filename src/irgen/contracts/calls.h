#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

// Generates a call in a contract. A fn with ranges computes on tiles, which are tables in a contract: inside
// such a fn, the value of a call or reduction is read from a table.

std::vector<ir::Value*> GenContractCall(FunctionGen& gen, const syntax::CallExpr& call,
                                        const sema::ExprInfo& info);
/// Generates a reduction, a scan, or a reduction with a fn, and returns the parts of its value: one for each
/// element of a tuple, otherwise a single one.
std::vector<ir::Value*> GenContractFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);

}  // namespace kdl::irgen
