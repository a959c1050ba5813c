#pragma once

#include <llvm/IR/PassManager.h>

namespace kdl::codegen {

/// Moves parts of functions with more than 1,000 basic blocks to functions of their own: loops, and what the body of a
/// long loop executes one after another. To allocate registers, and to move addresses next to their uses, LLVM needs a
/// time that grows with the square of a function's number of blocks. The pass must run before loop-invariant code is
/// hoisted: each value that is hoisted out of a part becomes an argument of its function.
class SplitFunctions : public llvm::PassInfoMixin<SplitFunctions> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace kdl::codegen
