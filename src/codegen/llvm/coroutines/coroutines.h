#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <span>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"

namespace kdl::codegen {

/// Returns the address of the current coroutine's frame. PlaceFrames later decides its offset from `scratch`.
llvm::Value* EmitFrame(llvm::IRBuilder<>& builder, llvm::Value* scratch);

/// Splits coroutines into ordinary functions, at every -O. Returns false if the module has none.
bool SplitCoroutines(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

/// Places the frames of each kernel's stages after its scratch, and the frame of a kernel with barriers into
/// the core's frame. Their sizes are known after the split.
void PlaceFrames(llvm::Module& module, std::span<KernelCode> kernels);

}  // namespace kdl::codegen
