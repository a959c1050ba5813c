#pragma once

#include <string_view>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

ir::Value* GenHostLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenHostStore(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value);
ir::Value* GenDeviceCores(FunctionGen& gen, const sema::Entity* device);
void GenLaunch(FunctionGen& gen, const syntax::LaunchStmt& launch);
/// Generates the launches of a `fuse`, which get the same number.
void GenFuse(FunctionGen& gen, const syntax::BlockStmt& fuse);
/// Generates the moves of tensors (`x to d`) in a launch or call.
void GenMoves(FunctionGen& gen, const sema::LaunchInfo& launch);
/// Requires that the argument for a parameter is on the parameter's device when the program is called.
void GenLives(FunctionGen& gen, const sema::Entity* param);
/// Makes the program use a tensor that is distributed like the parameter instead of the caller's tensor. If the program
/// reads the parameter, each rank copies its own elements from the caller's tensor.
void GenDistributedParam(FunctionGen& gen, const sema::ParamInfo& param);
/// If the program writes the parameter, each rank copies its own elements to the caller's tensor.
void GenCopyToCaller(FunctionGen& gen, const sema::ParamInfo& param);
/// Generates a move of the tensor to the device, where it stays.
void GenMoveTo(FunctionGen& gen, ir::Value* tensor, const sema::Entity* device,
               std::string_view cause);
void GenExpect(FunctionGen& gen, const syntax::Stmt& statement);
/// GenFill fills a tensor with a value, GenRandom fills one of a test with random numbers from a seed, and GenElements stores the
/// elements that its declaration lists.
void GenFill(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* value);
void GenElements(FunctionGen& gen, const sema::Entity* tensor, Span span);
void GenRandom(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* seed);
void GenLocalTensor(FunctionGen& gen, const sema::Entity* tensor, Span span);

}  // namespace kdl::irgen
