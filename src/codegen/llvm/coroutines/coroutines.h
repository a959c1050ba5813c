#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <span>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"

namespace kdl::codegen {

/// The memory of the frame of the coroutine that is emitted: an address after `scratch` that PlaceFrames decides.
llvm::Value* EmitFrame(llvm::IRBuilder<>& builder, llvm::Value* scratch);

/// Makes ordinary functions of coroutines, at every -O. False: the module has none.
bool SplitCoroutines(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

/// Puts the frames of each kernel's stages, whose sizes the split has told, after its scratch, and that of a kernel with
/// barriers into the core's frame.
void PlaceFrames(llvm::Module& module, std::span<KernelCode> kernels);

}  // namespace kdl::codegen
