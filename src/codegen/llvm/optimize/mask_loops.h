#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>

namespace kdl::codegen {

/// Expands accesses whose mask selects only their first lanes into loops, if the processor has no instruction
/// for such accesses. LLVM would test each lane, which takes dozens of branches for one access. On some x86 processors,
/// stores are split into parts instead.
void MakeMaskLoops(llvm::Module& module, llvm::FunctionAnalysisManager& analyses,
                   const llvm::TargetMachine& machine);

}  // namespace kdl::codegen
