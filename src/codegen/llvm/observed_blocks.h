#pragma once

#include "codegen/llvm/emitter.h"

namespace kdl::codegen {

/// Returns whether an observer is told about the iterations of the loop: those of the outermost loop that a pass has
/// made from a loop over the blocks of a core.
bool IsObserved(const Emitter& emitter, const ir::Op* loop);

/// Tells the observer of the launch that a block begins, or, if `number` is -1, that it ends.
void TellBlock(Emitter& emitter, llvm::Value* number);

}  // namespace kdl::codegen
