#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

/// Loads an element of a tensor or of an auxiliary, which is a name that an equation of the contract defines.
/// Converts the element to the type in which the contract computes.
ir::Value* GenContractLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
/// Loads the element of a tensor or table at one index for each of its dimensions.
ir::Value* GenContractElement(FunctionGen& gen, const sema::Entity* tensor,
                              const sema::IndexInfo& index, Span span);
ir::Value* GenContractName(FunctionGen& gen, const sema::ExprInfo& info);
ir::Value* GenContractLogic(FunctionGen& gen, const syntax::BinaryExpr& binary);
ir::Value* GenContractCast(FunctionGen& gen, ir::Value* operand, const sema::ExprInfo& info);
ir::Value* GenContractBuiltin(FunctionGen& gen, const syntax::CallExpr& call,
                              const sema::ExprInfo& info);
/// Prepares the inlining of a fn into the clause. The result knows the fn's sizes, but its parameters have no
/// values yet.
FunctionGen GenInner(FunctionGen& gen, const sema::CheckedFunction& callee,
                     const std::vector<Size>& sizes);
/// Generates the body of the fn that is being inlined, at the insertion point of `gen`.
void GenInnerBody(FunctionGen& gen, FunctionGen& inner);
/// Inlines a fn that computes on scalars, and returns its results.
std::vector<ir::Value*> GenInlined(FunctionGen& gen, const sema::CheckedFunction& callee,
                                   const std::vector<ir::Value*>& arguments,
                                   const std::vector<Size>& sizes);
/// Returns an element of a tensor, or `otherwise` if the index is out of bounds. If the index is always in
/// bounds, `otherwise` may be null.
ir::Value* GenElementOr(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                        const syntax::Expr* otherwise, Scalar scalar, Span span);
/// Returns the index into one dimension as an i64.
ir::Value* GenDimIndex(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
