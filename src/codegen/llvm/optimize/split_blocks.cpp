#include "codegen/llvm/optimize/split_blocks.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Pass.h>

#include <iterator>
#include <vector>

namespace kdl::codegen {

namespace {

constexpr size_t kMostInstructions = 4000;
constexpr size_t kInstructionsKept = 2000;

/// Returns the first instruction of a block that a split may precede: after its phis and the allocations that the
/// frame contains.
llvm::BasicBlock::iterator FirstSplit(llvm::BasicBlock& block) {
  llvm::BasicBlock::iterator first = block.getFirstInsertionPt();
  for (llvm::BasicBlock::iterator it = first; it != block.end(); ++it) {
    if (llvm::isa<llvm::AllocaInst>(*it)) first = std::next(it);
  }
  return first;
}

/// Splits a block. Its last instructions stay together: CodeGenPrepare has placed the condition of a branch next to
/// the branch.
void Split(llvm::BasicBlock& block) {
  llvm::BasicBlock* rest = &block;
  llvm::BasicBlock::iterator at = FirstSplit(block);
  for (auto left = static_cast<size_t>(std::distance(at, block.end())); left > kMostInstructions;
       left -= kInstructionsKept) {
    std::advance(at, kInstructionsKept);
    rest = rest->splitBasicBlock(at);
    at = rest->begin();
  }
}

class SplitBlocks : public llvm::FunctionPass {
 public:
  SplitBlocks() : FunctionPass(id_) {}

  bool runOnFunction(llvm::Function& function) override {
    std::vector<llvm::BasicBlock*> large;
    for (llvm::BasicBlock& block : function) {
      if (block.size() > kMostInstructions) large.push_back(&block);
    }
    for (llvm::BasicBlock* block : large) Split(*block);
    return !large.empty();
  }

 private:
  static char id_;
};

char SplitBlocks::id_ = 0;

}  // namespace

llvm::FunctionPass* MakeSplitBlocks() { return new SplitBlocks(); }

}  // namespace kdl::codegen
