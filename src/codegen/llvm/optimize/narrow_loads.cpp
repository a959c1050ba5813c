#include "codegen/llvm/optimize/narrow_loads.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace kdl::codegen {

void KeepLoadsNarrow(llvm::Module& module) {
  std::vector<llvm::SelectInst*> found;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      bool is_float = select && select->getType()->isFloatingPointTy();
      if (is_float && llvm::isa<llvm::FCmpInst>(select->getCondition())) found.push_back(select);
    }
  }
  // Instruction selection at -O0 does not look through a `freeze`, which has no effect on a comparison's result.
  for (llvm::SelectInst* select : found)
    select->setCondition(llvm::IRBuilder<>(select).CreateFreeze(select->getCondition()));
}

}  // namespace kdl::codegen
