#include "codegen/llvm/optimize/negated_fma.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace kdl::codegen {

namespace {

bool IsFma(const llvm::Value* value) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call && call->getIntrinsicID() == llvm::Intrinsic::fma;
}

/// Whether instruction selection cannot make a negation of the number in this use.
bool IsNeverNegated(const llvm::Use& use) {
  constexpr unsigned kAddend = 2;
  const llvm::User* user = use.getUser();
  return llvm::isa<llvm::StoreInst, llvm::PHINode, llvm::FCmpInst>(user) ||
         (IsFma(user) && use.getOperandNo() == kAddend);
}

}  // namespace

void HideFmaResults(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!IsFma(&instruction) || instruction.getType()->isVectorTy()) continue;
      if (llvm::all_of(instruction.uses(), IsNeverNegated)) continue;
      llvm::IRBuilder<> builder(instruction.getNextNode());
      auto* hidden = builder.CreateArithmeticFence(&instruction, instruction.getType());
      instruction.replaceUsesWithIf(hidden,
                                    [&](const llvm::Use& use) { return use.getUser() != hidden; });
    }
  }
}

}  // namespace kdl::codegen
