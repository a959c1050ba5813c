#pragma once

#include <llvm/IR/PassManager.h>

namespace kdl::codegen {

/// Moves long loops that several functions of a module contain to functions of their own, so that each is compiled only
/// once. The kernels of a file are often made of the same loops: products of all types multiply the same panels, and a mean
/// is a sum. The pass must run before loop-invariant code is hoisted, for the same reason as SplitFunctions. It does not
/// change modules with debug information, in which each kernel keeps its own lines.
class ShareLoops : public llvm::PassInfoMixin<ShareLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace kdl::codegen
