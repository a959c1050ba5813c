#pragma once

#include "irgen/contracts/tables.h"

// Inlines a fn with ranges, that is, a fn that computes on tiles, into a clause (gen.tiles). A range has all
// values of the index name that the call binds to it. A value with ranges is a table: a statement first
// computes the reductions and calls that it needs, then loops over the elements.
namespace kdl::irgen {

/// Generates a call of a fn with ranges, for the current index values. In a clause, the call is evaluated
/// once for each combination of the names that it depends on.
std::vector<ir::Value*> GenContractTileCall(FunctionGen& gen, const syntax::CallExpr& call);

// The following functions generate code inside a fn with ranges.

/// Returns the value of a reduction or call for the current values of the ranges. Usually, the value has been
/// computed before the loops over the elements. If only some elements need it, generates its computation.
std::vector<ir::Value*> GenTileValue(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the element `tile[k = e]` for the current values of the ranges.
ir::Value* GenTileElement(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenTileLet(FunctionGen& gen, const sema::Entity* entity, const syntax::Expr* value);
void GenTileAssign(FunctionGen& gen, const syntax::AssignStmt& assign, const sema::Entity* var);
void GenTilePartAssign(FunctionGen& gen, const syntax::AssignStmt& assign,
                       const syntax::IndexExpr& target);
void GenTileReturn(FunctionGen& gen, const syntax::Expr* value);
/// Calls `body` to generate code that runs for each element of `tile`.
void GenForElements(FunctionGen& gen, const syntax::Expr* tile, const std::function<void()>& body);

}  // namespace kdl::irgen
