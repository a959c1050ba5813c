#pragma once

#include <span>
#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

// Entry points that generate expressions and statements, which may contain other expressions and statements.
// The files that generate particular kinds include this header, so that they need not include each other. The
// functions are defined in expressions/expressions.cpp, expressions/arithmetic.cpp and
// statements/statements.cpp.

/// Returns the value of an expression before it is rounded: an f32 if the expression's type is a narrow
/// float.
ir::Value* GenExpr(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the values of all elements of a tuple, before they are rounded. For any other expression, returns
/// a single value.
std::vector<ir::Value*> GenParts(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the value of an expression, rounded to the expression's own type.
ir::Value* GenRounded(FunctionGen& gen, const syntax::Expr* expr);
/// Returns the values of all elements of a tuple (or a single value), rounded to the scalar types in `type`.
std::vector<ir::Value*> RoundedParts(FunctionGen& gen, const syntax::Expr* expr,
                                     const sema::Type& type);
/// Generates the new value for an assignment such as `target += e`. If `e` is a product, this may be an fma,
/// as in `target + e`.
ir::Value* GenUpdate(FunctionGen& gen, const syntax::AssignStmt& assign, ir::Value* target);
/// Returns a size as an i64.
ir::Value* GenSize(FunctionGen& gen, Size size);
/// Returns an integer expression as an i64.
ir::Value* GenIndex(FunctionGen& gen, const syntax::Expr* expr);
/// Generates a call of a fn, and returns its results before they are rounded. There is one result for each
/// element of a tuple, and none if the fn has no result.
std::vector<ir::Value*> GenFnCall(FunctionGen& gen, const syntax::CallExpr& call,
                                  const sema::ExprInfo& info);
/// Like GenFnCall, but `given` contains the values of the arguments.
std::vector<ir::Value*> GenCallOf(FunctionGen& gen, const sema::CheckedFunction& callee,
                                  const sema::CallInfo& bound,
                                  const std::vector<ir::Value*>& given);
/// Generates a call of a library fn whose parameters and result are scalars.
ir::Value* GenLibraryCall(FunctionGen& gen, const sema::CheckedFunction& callee,
                          std::vector<ir::Value*> args);
ir::Value* GenBuiltin(FunctionGen& gen, const sema::Builtin& builtin,
                      const std::vector<ir::Value*>& args, Span span);
/// Returns whether a call of the fn may trap.
bool MayTrap(const ir::Function& fn, const ir::Module& module);
void GenBlock(FunctionGen& gen, const syntax::BlockStmt& block);
void GenStmts(FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);

/// Generates an argument of a launch whose dimensions are merged to packs: a view with the sizes `dims`, for the parameter
/// `param`.
ir::Value* GenMerged(FunctionGen& gen, const syntax::Expr* arg, const std::vector<Size>& dims,
                     Name param);

}  // namespace kdl::irgen
