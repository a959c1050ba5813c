#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <span>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"

namespace kdl::codegen {

/// Returns the address of the current coroutine's frame. PlaceFrames later determines its offset from
/// `scratch`.
llvm::Value* EmitFrame(llvm::IRBuilder<>& builder, llvm::Value* scratch);

/// Splits coroutines into ordinary functions, at every optimization level. Returns false if the module has no
/// coroutines.
bool SplitCoroutines(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

/// Places the frames of each kernel's stages after the kernel's scratch, and the frame of a kernel with
/// barriers in the core's frame. Coroutines must already have been split, since the sizes of their frames are
/// unknown before that.
void PlaceFrames(llvm::Module& module, std::span<KernelCode> kernels);

}  // namespace kdl::codegen
