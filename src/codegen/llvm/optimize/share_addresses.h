#pragma once

#include <llvm/IR/PassManager.h>

namespace kdl::codegen {

/// Computes integers and addresses once that several branches need, such as the address of a row in each version of a loop over
/// its elements. They are computed where the branches begin, outside of all loops or in the loop over blocks. In inner loops, a
/// branch may be rare, and registers are. Long functions are left as they are: there, register allocation takes longer if
/// values live longer.
class ShareAddresses : public llvm::PassInfoMixin<ShareAddresses> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses);
};

}  // namespace kdl::codegen
