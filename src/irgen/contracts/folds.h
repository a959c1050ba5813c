#pragma once

#include <vector>

#include "irgen/contracts/tables.h"

namespace kdl::irgen {

/// Generates a reduction, or a scan or fold with a fn, and returns the parts of its value. It is computed
/// once for each combination of the index names that it depends on.
std::vector<ir::Value*> GenFoldOnce(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// Stores its value for the current index values; a scan stores the values along its own index name.
void GenFoldRow(FunctionGen& gen, const syntax::ReduceExpr& reduce, const Kept& kept);
IndexNames FoldRowNames(const sema::ReduceInfo& info);

}  // namespace kdl::irgen
