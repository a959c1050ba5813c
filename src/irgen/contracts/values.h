#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

/// Loads an element of a tensor or auxiliary, and converts it to the type in which the contract computes.
ir::Value* GenContractLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
ir::Value* GenContractName(FunctionGen& gen, const sema::ExprInfo& info);
ir::Value* GenContractLogic(FunctionGen& gen, const syntax::BinaryExpr& binary);
ir::Value* GenContractCast(FunctionGen& gen, ir::Value* operand, const sema::ExprInfo& info);
ir::Value* GenContractBuiltin(FunctionGen& gen, const syntax::CallExpr& call,
                              const sema::ExprInfo& info);
/// Prepares to inline a fn into the clause. The result has the fn's sizes, but its parameters have no
/// values yet.
FunctionGen GenInner(FunctionGen& gen, const sema::CheckedFunction& callee,
                     const std::vector<Size>& sizes);
/// Generates the body of the inlined fn at the insertion point of `gen`.
void GenInnerBody(FunctionGen& gen, FunctionGen& inner);
/// Inlines the body of a fn of scalars and returns its results.
std::vector<ir::Value*> GenInlined(FunctionGen& gen, const sema::CheckedFunction& callee,
                                   const std::vector<ir::Value*>& arguments,
                                   const std::vector<Size>& sizes);
/// Returns an element of a tensor, or `otherwise` if the index is out of bounds. `otherwise` may be null if
/// the index is always in bounds.
ir::Value* GenElementOr(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                        const syntax::Expr* otherwise, Scalar scalar, Span span);
/// Returns the index into one dimension as an i64.
ir::Value* GenDimIndex(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
