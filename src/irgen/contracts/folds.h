#pragma once

#include <vector>

#include "irgen/contracts/tables.h"

namespace kdl::irgen {

/// Generates a reduction, a scan, or a reduction with a fn, and returns the parts of its value (see parts.h).
/// The value is computed once for each combination of the index names that it depends on.
std::vector<ir::Value*> GenFoldOnce(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// Stores the value of a reduction for the current index values. For a scan, stores all values along the
/// scan's index name.
void GenFoldRow(FunctionGen& gen, const syntax::ReduceExpr& reduce, const Kept& kept);
IndexNames FoldRowNames(const sema::ReduceInfo& info);

}  // namespace kdl::irgen
