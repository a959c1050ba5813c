#include "codegen/llvm/optimize/share_addresses.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace kdl::codegen {

namespace {

/// Equal instructions compute the same value. They may differ in flags, such as `nuw`.
struct SameValue : llvm::DenseMapInfo<llvm::Instruction*> {
  static unsigned getHashValue(const llvm::Instruction* one) {
    return static_cast<unsigned>(
        llvm::hash_combine(one->getOpcode(), one->getType(),
                           llvm::hash_combine_range(one->value_op_begin(), one->value_op_end())));
  }
  static bool isEqual(const llvm::Instruction* a, const llvm::Instruction* b) {
    auto is_marker = [](const llvm::Instruction* one) {
      return one == getEmptyKey() || one == getTombstoneKey();
    };
    if (a == b || is_marker(a) || is_marker(b)) return a == b;
    return a->isIdenticalToWhenDefined(b);
  }
};

/// Whether an instruction always computes an integer or an address from others, and is cheap.
bool IsCheapNumber(const llvm::Instruction& one) {
  if (!one.getType()->isIntegerTy() && !one.getType()->isPointerTy()) return false;
  if (llvm::isa<llvm::GetElementPtrInst, llvm::MinMaxIntrinsic>(one)) return true;
  if (llvm::isa<llvm::ZExtInst, llvm::SExtInst, llvm::TruncInst>(one)) return true;
  return llvm::isa<llvm::BinaryOperator>(one) && !one.isIntDivRem() &&
         !one.getType()->isIntegerTy(1);
}

class Sharing {
 public:
  Sharing(const llvm::DominatorTree& dominators, const llvm::LoopInfo& loops)
      : dominators_(dominators), loops_(loops) {}

  void Share(llvm::Function& function) {
    const llvm::ReversePostOrderTraversal<llvm::Function*> blocks(&function);
    for (llvm::BasicBlock* block : blocks) {
      for (llvm::Instruction& one : llvm::make_early_inc_range(*block))
        if (IsCheapNumber(one)) Visit(one);
    }
  }

 private:
  void Visit(llvm::Instruction& one) {
    auto [found, is_first] = firsts_.insert(&one);
    if (is_first) return;
    llvm::Instruction& first = **found;
    llvm::BasicBlock* common =
        dominators_.findNearestCommonDominator(first.getParent(), one.getParent());
    if (common != first.getParent()) {
      const llvm::Loop* loop = loops_.getLoopFor(common);
      if (loop != nullptr && (loop->isInnermost() || loop->getLoopDepth() > 1)) return;
      // The operands dominate both, so they dominate the end of `common`.
      first.moveBefore(common->getTerminator());
    }
    first.andIRFlags(&one);
    one.replaceAllUsesWith(&first);
    one.eraseFromParent();
  }

  const llvm::DominatorTree& dominators_;
  const llvm::LoopInfo& loops_;
  llvm::DenseSet<llvm::Instruction*, SameValue> firsts_;
};

}  // namespace

llvm::PreservedAnalyses ShareAddresses::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager& analyses) {
  constexpr unsigned kShort = 3000;  // instructions
  if (function.getInstructionCount() > kShort) return llvm::PreservedAnalyses::all();
  Sharing(analyses.getResult<llvm::DominatorTreeAnalysis>(function),
          analyses.getResult<llvm::LoopAnalysis>(function))
      .Share(function);
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace kdl::codegen
