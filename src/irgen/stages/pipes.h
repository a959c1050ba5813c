#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenPipe(FunctionGen& gen, const sema::Entity* pipe);
void GenStage(FunctionGen& gen, const syntax::StageStmt& stage);
void GenPush(FunctionGen& gen, const sema::PipeInfo& push, Span span);
/// Pops a tile from a pipe. The result has the scalar type of the pipe's tiles.
ir::Value* GenPop(FunctionGen& gen, const sema::PipeInfo& pop, Span span);

}  // namespace kdl::irgen
