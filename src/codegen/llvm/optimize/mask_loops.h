#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace kdl::codegen {

/// Makes loops of accesses under a mask of the first lanes where the processor has no instruction for them: LLVM would ask
/// of each lane, which takes some dozens of branches an access.
void MakeMaskLoops(llvm::Module& module, llvm::FunctionAnalysisManager& analyses);

}  // namespace kdl::codegen
