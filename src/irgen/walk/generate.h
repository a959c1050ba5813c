#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// What everything that has expressions or statements in it generates these with, so that the parts do not see each other:
// expressions/expressions.cpp, expressions/arithmetic.cpp and statements/statements.cpp, which see all parts that they need.

/// The value that the expression computes in: f32 where its type is a narrow float.
ir::Value* GenExpr(FunctionGen& gen, const syntax::Expr* expr);
/// The same of each part of a tuple; of another expression its one value.
std::vector<ir::Value*> GenParts(FunctionGen& gen, const syntax::Expr* expr);
/// Rounded to the expression's own type.
ir::Value* GenRounded(FunctionGen& gen, const syntax::Expr* expr);
/// The parts, or the one value, rounded to the scalars of `type`.
std::vector<ir::Value*> RoundedParts(FunctionGen& gen, const syntax::Expr* expr,
                                     const sema::Type& type);
/// `target + e`, `target - e` … of an assignment, by the rule of `fma`.
ir::Value* GenUpdate(FunctionGen& gen, const syntax::AssignStmt& assign, ir::Value* target);
/// A size as i64.
ir::Value* GenSize(FunctionGen& gen, Size size);
/// An integer expression as i64.
ir::Value* GenIndex(FunctionGen& gen, const syntax::Expr* expr);
/// The values that a call of a fn computes in: one for each part of the result, none where the fn has no result.
std::vector<ir::Value*> GenFnCall(FunctionGen& gen, const syntax::CallExpr& call,
                                  const sema::ExprInfo& info);
/// The same, where `given` is what the arguments of the source are.
std::vector<ir::Value*> GenCallOf(FunctionGen& gen, const sema::CheckedFunction& callee,
                                  const sema::CallInfo& bound,
                                  const std::vector<ir::Value*>& given);
/// Of a fn of the library, which takes and gives numbers.
ir::Value* GenLibraryCall(FunctionGen& gen, const sema::CheckedFunction& callee,
                          std::vector<ir::Value*> args);
ir::Value* GenBuiltin(FunctionGen& gen, const sema::Builtin& builtin,
                      const std::vector<ir::Value*>& args, Span span);
/// Whether a call of the fn may trap.
bool MayTrap(const ir::Function& fn, const ir::Module& module);
void GenBlock(FunctionGen& gen, const syntax::BlockStmt& block);
void GenStmts(FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);

}  // namespace kdl::irgen
