#include "codegen/llvm/optimize/lane_sums.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <utility>
#include <vector>

namespace kdl::codegen {

namespace {

namespace match = llvm::PatternMatch;

/// If the values are the two halves of a vector, in either order, returns that vector, otherwise null. A half of
/// one lane is a scalar.
llvm::Value* WholeOf(llvm::Value* a, llvm::Value* b) {
  llvm::Value* whole = nullptr;
  auto first_lane = [&](llvm::Value* half) -> int64_t {
    uint64_t lane = 0;
    llvm::Value* from = nullptr;
    if (match::match(half, match::m_ExtractElt(match::m_Value(from), match::m_ConstantInt(lane)))) {
      auto* type = llvm::cast<llvm::FixedVectorType>(from->getType());
      if (type->getNumElements() != 2) return -1;
    } else if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(half)) {
      int first = 0;
      if (!shuffle->isExtractSubvectorMask(first)) return -1;
      from = shuffle->getOperand(0);
      lane = static_cast<uint64_t>(first);
      auto lanes = [](llvm::Value* value) {
        return llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
      };
      if (lanes(from) != 2 * lanes(half)) return -1;
    } else {
      return -1;
    }
    if (whole && whole != from) return -1;
    whole = from;
    return static_cast<int64_t>(lane);
  };
  int64_t of_a = first_lane(a);
  int64_t of_b = first_lane(b);
  bool are_halves = of_a >= 0 && of_b >= 0 && (of_a == 0) != (of_b == 0);
  return are_halves ? whole : nullptr;
}

/// Returns the vector whose lanes the scalar addition sums, or null. The halves of the vector are added to each
/// other, then the halves of that sum, and so on.
llvm::Value* SummedVector(llvm::Instruction& sum) {
  llvm::Value* vector = nullptr;
  for (llvm::Value* part = &sum;;) {
    llvm::Value* a = nullptr;
    llvm::Value* b = nullptr;
    if (!match::match(part, match::m_Add(match::m_Value(a), match::m_Value(b)))) return vector;
    llvm::Value* whole = WholeOf(a, b);
    if (!whole) return vector;
    vector = part = whole;
  }
}

}  // namespace

llvm::PreservedAnalyses ShowLaneSums::run(llvm::Function& function,
                                          llvm::FunctionAnalysisManager&) {
  std::vector<std::pair<llvm::Instruction*, llvm::Value*>> sums;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    bool adds =
        instruction.getOpcode() == llvm::Instruction::Add && instruction.getType()->isIntegerTy();
    llvm::Value* vector = adds ? SummedVector(instruction) : nullptr;
    if (vector) sums.emplace_back(&instruction, vector);
  }
  for (auto [sum, vector] : sums) {
    llvm::IRBuilder<> builder(sum);
    sum->replaceAllUsesWith(builder.CreateAddReduce(vector));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(sum);
  }
  return sums.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace kdl::codegen
