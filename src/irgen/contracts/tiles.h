#pragma once

#include "irgen/contracts/tables.h"

// Fns with ranges that are inlined into a clause (gen.tiles). A range covers all values of the index name to
// which the call binds it. A value with ranges is a table: a statement first computes its reductions and
// calls, then loops over its elements.
namespace kdl::irgen {

/// Generates a call of such a fn for the current index values. In a clause, it is computed once for each
/// combination of the names that it depends on.
std::vector<ir::Value*> GenContractTileCall(FunctionGen& gen, const syntax::CallExpr& call);

// Inside the fn:

/// Returns a reduction or call for the current values of the ranges. It was computed before the loops, or is
/// computed here if only some elements need it.
std::vector<ir::Value*> GenTileValue(FunctionGen& gen, const syntax::Expr* expr);
/// Returns `tile[k = e]` for the current values.
ir::Value* GenTileElement(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenTileLet(FunctionGen& gen, const sema::Entity* entity, const syntax::Expr* value);
void GenTileAssign(FunctionGen& gen, const syntax::AssignStmt& assign, const sema::Entity* var);
void GenTilePartAssign(FunctionGen& gen, const syntax::AssignStmt& assign,
                       const syntax::IndexExpr& target);
void GenTileReturn(FunctionGen& gen, const syntax::Expr* value);
/// Runs `body` for each element of a tile of this type.
void GenForElements(FunctionGen& gen, const syntax::Expr* tile, const std::function<void()>& body);

}  // namespace kdl::irgen
