#pragma once

#include <vector>

#include "irgen/contracts/tables.h"

namespace kdl::irgen {

/// A reduction, scan or fold with a fn for the present names: its parts, made once for those that decide them.
std::vector<ir::Value*> GenFoldOnce(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// Stores what it gives for the present names; a scan does for all values of its own.
void GenFoldRow(FunctionGen& gen, const syntax::ReduceExpr& reduce, const Kept& kept);
IndexNames RowOfFold(const sema::ReduceInfo& info);

}  // namespace kdl::irgen
