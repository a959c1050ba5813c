#pragma once

#include <string_view>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

ir::Value* GenHostLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenHostStore(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value);
ir::Value* GenDeviceCores(FunctionGen& gen, const sema::Entity* device);
void GenLaunch(FunctionGen& gen, const syntax::LaunchStmt& launch);
/// The `x to d` of a launch or call.
void GenMoves(FunctionGen& gen, const sema::LaunchInfo& launch);
/// A parameter lives on its device at the call.
void GenLives(FunctionGen& gen, const sema::Entity* param);
/// From here on the tensor lives there.
void GenMoveTo(FunctionGen& gen, ir::Value* tensor, const sema::Entity* device,
               std::string_view cause);
void GenExpect(FunctionGen& gen, const syntax::Stmt& statement);
/// Fills a tensor of a test with the numbers of a seed.
void GenFill(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* value);
void GenRandom(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* seed);
void GenLocalTensor(FunctionGen& gen, const sema::Entity* tensor, Span span);

}  // namespace kdl::irgen
