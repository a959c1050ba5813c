#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenPipe(FunctionGen& gen, const sema::Entity* pipe);
void GenStage(FunctionGen& gen, const syntax::StageStmt& stage);
void GenPush(FunctionGen& gen, const sema::PipeInfo& push, Span span);
/// Returns the tile with the type that it has in the pipe.
ir::Value* GenPop(FunctionGen& gen, const sema::PipeInfo& pop, Span span);

}  // namespace kdl::irgen
