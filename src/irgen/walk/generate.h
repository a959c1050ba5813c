#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// The entry points for generating expressions and statements that contain others, so that the parts need not
// include each other. They are defined in expressions/expressions.cpp, expressions/arithmetic.cpp and
// statements/statements.cpp, which include all the parts that they need.

/// Returns the value as it is computed: an f32 if the expression's type is a narrow float.
ir::Value* GenExpr(FunctionGen& gen, const syntax::Expr* expr);
/// The same for each part of a tuple; for any other expression, its only value.
std::vector<ir::Value*> GenParts(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the value rounded to the expression's own type.
ir::Value* GenRounded(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the parts, or the only value, rounded to the scalars of `type`.
std::vector<ir::Value*> RoundedParts(FunctionGen& gen, const syntax::Expr* expr,
                                     const sema::Type& type);
/// Generates `target + e`, `target - e` … of an assignment, with the fma rule.
ir::Value* GenUpdate(FunctionGen& gen, const syntax::AssignStmt& assign, ir::Value* target);
/// Returns a size as an i64.
ir::Value* GenSize(FunctionGen& gen, Size size);
/// Returns an integer expression as an i64.
ir::Value* GenIndex(FunctionGen& gen, const syntax::Expr* expr);
/// Calls a fn and returns its results as they are computed: one for each part, none if the fn has no result.
std::vector<ir::Value*> GenFnCall(FunctionGen& gen, const syntax::CallExpr& call,
                                  const sema::ExprInfo& info);
/// The same with `given` as the values of the arguments.
std::vector<ir::Value*> GenCallOf(FunctionGen& gen, const sema::CheckedFunction& callee,
                                  const sema::CallInfo& bound,
                                  const std::vector<ir::Value*>& given);
/// Calls a fn of the library whose parameters and result are scalars.
ir::Value* GenLibraryCall(FunctionGen& gen, const sema::CheckedFunction& callee,
                          std::vector<ir::Value*> args);
ir::Value* GenBuiltin(FunctionGen& gen, const sema::Builtin& builtin,
                      const std::vector<ir::Value*>& args, Span span);
/// Returns whether a call of the fn may trap.
bool MayTrap(const ir::Function& fn, const ir::Module& module);
void GenBlock(FunctionGen& gen, const syntax::BlockStmt& block);
void GenStmts(FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);

}  // namespace kdl::irgen
