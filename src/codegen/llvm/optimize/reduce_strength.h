#pragma once

#include <llvm/IR/PassManager.h>

namespace kdl::codegen {

/// Runs loop strength reduction on short functions, so that pointers advance with the loop. In long functions it takes too much
/// time (backend.cpp), and the long iterations of register-blocked loops gain nothing from it.
class ReduceStrength : public llvm::PassInfoMixin<ReduceStrength> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses);
};

}  // namespace kdl::codegen
