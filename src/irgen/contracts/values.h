#pragma once

#include <vector>

#include "irgen/contracts/scope.h"

namespace kdl::irgen {

/// The element of a tensor or auxiliary, as the contract computes with it.
ir::Value* GenContractLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
ir::Value* GenContractName(FunctionGen& gen, const sema::ExprInfo& info);
ir::Value* GenContractLogic(FunctionGen& gen, const syntax::BinaryExpr& binary);
ir::Value* GenContractCast(FunctionGen& gen, ir::Value* operand, const sema::ExprInfo& info);
ir::Value* GenContractBuiltin(FunctionGen& gen, const syntax::CallExpr& call,
                              const sema::ExprInfo& info);
/// A fn whose body is a part of the clause: its sizes are known, its parameters not yet.
FunctionGen GenInner(FunctionGen& gen, const sema::CheckedFunction& callee,
                     const std::vector<Size>& sizes);
/// The body of it, at the place of `gen`.
void GenInnerBody(FunctionGen& gen, FunctionGen& inner);
/// The body of a fn of scalars as a part of the clause; what it returns.
std::vector<ir::Value*> GenInlined(FunctionGen& gen, const sema::CheckedFunction& callee,
                                   const std::vector<ir::Value*>& arguments,
                                   const std::vector<Size>& sizes);
/// The element of a tensor, or what `otherwise` gives where the index is outside; null: it is never.
ir::Value* GenElementOr(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                        const syntax::Expr* otherwise, Scalar scalar, Span span);
/// The index of one dimension, an i64.
ir::Value* GenDimIndex(FunctionGen& gen, const sema::IndexDim& dim);

}  // namespace kdl::irgen
