#pragma once

#include <llvm/IR/PassManager.h>

namespace kdl::codegen {

/// Replaces the sum of all lanes of an integer vector by a call of `llvm.vector.reduce.add`. If the lanes are
/// accumulated in a loop, LLVM then finds instructions that add several terms to one lane, such as sums of
/// products of 16-bit integers and sums of absolute differences of bytes. Must run before InstCombine.
class ShowLaneSums : public llvm::PassInfoMixin<ShowLaneSums> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace kdl::codegen
