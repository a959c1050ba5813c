#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// The entry points for generating expressions and statements, which contain other expressions and
// statements. Files that generate one kind of them include this header, and so need not include each other.
// The functions are defined in expressions/expressions.cpp, expressions/arithmetic.cpp and
// statements/statements.cpp, which include all the parts.

/// Returns the value of an expression as it is computed: an f32 if the expression's type is a narrow float.
ir::Value* GenExpr(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the values of all parts of a tuple, as they are computed; for any other expression, its
/// only value.
std::vector<ir::Value*> GenParts(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the value of an expression, rounded to the expression's own type.
ir::Value* GenRounded(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the values of all parts of a tuple (or the only value), rounded to the scalars of `type`.
std::vector<ir::Value*> RoundedParts(FunctionGen& gen, const syntax::Expr* expr,
                                     const sema::Type& type);
/// Generates the new value of an assignment (`target + e`, `target - e`, …) with the fma rule.
ir::Value* GenUpdate(FunctionGen& gen, const syntax::AssignStmt& assign, ir::Value* target);
/// Returns a size as an i64.
ir::Value* GenSize(FunctionGen& gen, Size size);
/// Returns an integer expression as an i64.
ir::Value* GenIndex(FunctionGen& gen, const syntax::Expr* expr);
/// Calls a fn and returns its results as they are computed. There is one result for each part, and none if
/// the fn has no result.
std::vector<ir::Value*> GenFnCall(FunctionGen& gen, const syntax::CallExpr& call,
                                  const sema::ExprInfo& info);
/// Like GenFnCall, with `given` as the values of the arguments.
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
