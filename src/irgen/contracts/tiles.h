#pragma once

#include "irgen/contracts/tables.h"

// Fns with ranges as parts of a clause (gen.tiles). A range walks all that the name walks which the call binds it to. What has
// ranges is a table: a statement computes the reductions and calls in it first, then loops over its elements.
namespace kdl::irgen {

/// What a call of one gives for the present names: where this is a clause made once for those that decide it.
std::vector<ir::Value*> GenContractTileCall(FunctionGen& gen, const syntax::CallExpr& call);

// In the fn:

/// A reduction or call at the present values of the ranges: computed ahead of the loops, or, where only some elements need it,
/// here.
std::vector<ir::Value*> GenTileValue(FunctionGen& gen, const syntax::Expr* expr);
/// `tile[k = e]` at the present values.
ir::Value* GenTileElement(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenTileLet(FunctionGen& gen, const sema::Entity* entity, const syntax::Expr* value);
void GenTileAssign(FunctionGen& gen, const syntax::AssignStmt& assign, const sema::Entity* var);
void GenTilePartAssign(FunctionGen& gen, const syntax::AssignStmt& assign,
                       const syntax::IndexExpr& target);
void GenTileReturn(FunctionGen& gen, const syntax::Expr* value);
/// `body` for each element of a tile of the type.
void GenForElements(FunctionGen& gen, const syntax::Expr* tile, const std::function<void()>& body);

}  // namespace kdl::irgen
