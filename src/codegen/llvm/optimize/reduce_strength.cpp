#include "codegen/llvm/optimize/reduce_strength.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopStrengthReduce.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "codegen/llvm/optimize/long_functions.h"

namespace kdl::codegen {

namespace {

/// Finds out whether an address or a product in a loop takes more than an addressing mode. If all addresses are sums of
/// something that does not change and of 1, 2, 4 or 8 times an induction variable, strength reduction gains nothing, but
/// considers many ways to write these sums.
class Progressions {
 public:
  Progressions(const llvm::Loop& loop, const llvm::LoopInfo& loops,
               llvm::ScalarEvolution& evolution)
      : loop_(loop), loops_(loops), evolution_(evolution) {
    for (llvm::PHINode& phi : loop.getHeader()->phis()) {
      if (!evolution.isSCEVable(phi.getType())) continue;
      if (std::optional<int64_t> step = ConstantStep(phi)) steps_.push_back(*step);
    }
  }

  bool NeedReduction() const {
    return llvm::any_of(loop_.blocks(), [&](const llvm::BasicBlock* block) {
      return loops_.getLoopFor(block) == &loop_ &&
             llvm::any_of(*block,
                          [&](const llvm::Instruction& one) { return NeedsReduction(one); });
    });
  }

 private:
  const llvm::SCEVAddRecExpr* ProgressionOf(const llvm::Instruction& made) const {
    const auto* progression = llvm::dyn_cast<llvm::SCEVAddRecExpr>(
        evolution_.getSCEV(const_cast<llvm::Instruction*>(&made)));
    bool is_of_loop = progression != nullptr && progression->getLoop() == &loop_;
    return is_of_loop && progression->isAffine() ? progression : nullptr;
  }

  std::optional<int64_t> ConstantStep(const llvm::Instruction& made) const {
    const llvm::SCEVAddRecExpr* progression = ProgressionOf(made);
    if (progression == nullptr) return std::nullopt;
    const auto* step =
        llvm::dyn_cast<llvm::SCEVConstant>(progression->getStepRecurrence(evolution_));
    return step != nullptr ? step->getAPInt().trySExtValue() : std::nullopt;
  }

  bool NeedsReduction(const llvm::Instruction& made) const {
    bool is_address = llvm::isa<llvm::GetElementPtrInst>(made);
    bool is_product = made.getOpcode() == llvm::Instruction::Mul;
    if ((!is_address && !is_product) || !evolution_.isSCEVable(made.getType()) ||
        ProgressionOf(made) == nullptr)
      return false;
    std::optional<int64_t> step = ConstantStep(made);
    return !step || (is_address && !IsInAddressingMode(*step));
  }

  bool IsInAddressingMode(int64_t step) const {
    return llvm::any_of(steps_, [&](int64_t variable) {
      return step == variable || step == 2 * variable || step == 4 * variable ||
             step == 8 * variable;
    });
  }

  const llvm::Loop& loop_;
  const llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  std::vector<int64_t> steps_;  ///< of induction variables
};

/// Copies of values whose computation cannot be seen.
class FrozenCopies {
 public:
  llvm::Instruction* Add(llvm::Instruction& made, llvm::BasicBlock::iterator before) {
    auto* frozen = new llvm::FreezeInst(&made, "", before);
    frozen_.emplace_back(frozen);
    return frozen;
  }

  /// Replaces each copy by its original.
  void Remove() {
    for (llvm::Value* one : frozen_) {
      if (one == nullptr) continue;
      auto* frozen = llvm::cast<llvm::FreezeInst>(one);
      frozen->replaceAllUsesWith(frozen->getOperand(0));
      frozen->eraseFromParent();
    }
  }

 private:
  std::vector<llvm::WeakVH>
      frozen_;  ///< null where loop strength reduction has removed the instruction
};

/// Hides how quotients and remainders were computed. Loop strength reduction would compute them again in each iteration, since
/// LLVM does not move divisions out of loops.
class HiddenQuotients {
 public:
  void Hide(llvm::Function& function) {
    std::vector<llvm::Instruction*> divisions;
    for (llvm::Instruction& one : llvm::instructions(function)) {
      bool divides = one.isIntDivRem() && one.getType()->isIntegerTy();
      if (divides && !llvm::isa<llvm::Constant>(one.getOperand(1))) divisions.push_back(&one);
    }
    for (llvm::Instruction* one : divisions) {
      llvm::Instruction* copy = copies_.Add(*one, std::next(one->getIterator()));
      one->replaceUsesWithIf(copy, [&](const llvm::Use& use) { return use.getUser() != copy; });
    }
  }

  /// Undoes Hide.
  void Show() { copies_.Remove(); }

 private:
  FrozenCopies copies_;
};

/// Hides how sums were computed that do not change in a loop, such as the address of an element of a tensor with six
/// dimensions. Loop strength reduction would try all ways to split such a sum into two, and each of them again.
class HiddenSums {
 public:
  HiddenSums(const llvm::Loop& loop, llvm::ScalarEvolution& evolution)
      : loop_(loop), evolution_(evolution) {}

  void Hide() {
    for (llvm::BasicBlock* block : loop_.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        bool computes_address =
            llvm::isa<llvm::GetElementPtrInst, llvm::BinaryOperator>(instruction);
        if (!computes_address || !evolution_.isSCEVable(instruction.getType())) continue;
        for (llvm::Use& use : instruction.operands()) use.set(Hidden(use.get()));
      }
    }
  }

  /// Undoes Hide.
  void Show() { frozen_.Remove(); }

 private:
  /// A sum of two is an address and an offset, which is worth splitting.
  static constexpr size_t kMostTerms = 2;

  /// Returns the value, or a copy of it whose computation cannot be seen.
  llvm::Value* Hidden(llvm::Value* value) {
    auto* made = llvm::dyn_cast<llvm::Instruction>(value);
    if (made == nullptr || loop_.contains(made) || !evolution_.isSCEVable(made->getType()))
      return value;
    const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(evolution_.getSCEV(made));
    if (sum == nullptr || sum->getNumOperands() <= kMostTerms) return value;
    auto known = copies_.find(value);
    if (known != copies_.end()) return known->second;
    llvm::Value* copy = Copied(*made);
    copies_[value] = copy;
    return copy;
  }

  llvm::Value* Copied(llvm::Instruction& made) {
    llvm::Instruction* before = loop_.getLoopPreheader()->getTerminator();
    // Addresses with constant distances from each other can share a register.
    auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&made);
    if (address != nullptr && address->hasAllConstantIndices()) {
      llvm::Value* base = Hidden(address->getPointerOperand());
      llvm::Instruction* moved = address->clone();
      moved->setOperand(llvm::GetElementPtrInst::getPointerOperandIndex(), base);
      moved->insertBefore(before);
      return moved;
    }
    return frozen_.Add(made, before->getIterator());
  }

  const llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> copies_;
  FrozenCopies frozen_;
};

/// Whether the loop goes through memory at more than `most` places with a constant distance from one iteration to the next, but
/// none from each other.
bool HasMorePlaces(size_t most, const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  std::vector<const llvm::SCEV*> places;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call && call->getIntrinsicID() == llvm::Intrinsic::prefetch)
        address = call->getArgOperand(0);
      if (!address) continue;
      const llvm::SCEV* place = evolution.getSCEV(address);
      const auto* moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(place);
      if (!moving) continue;
      if (!llvm::isa<llvm::SCEVConstant>(moving->getStepRecurrence(evolution))) return false;
      if (places.size() > most) continue;  // but the steps of all are examined
      bool is_known = std::ranges::any_of(places, [&](const llvm::SCEV* other) {
        return llvm::isa<llvm::SCEVConstant>(evolution.getMinusSCEV(place, other));
      });
      if (!is_known) places.push_back(place);
    }
  }
  return places.size() > most;
}

/// Runs loop strength reduction on a loop. In loops that contain no others, where most of the instructions are, long sums are
/// hidden meanwhile.
class ReduceLoop : public llvm::PassInfoMixin<ReduceLoop> {
  /// Strength reduction advances the address of each place by itself. With more places than registers, addresses are in memory,
  /// and each iteration loads, changes and stores them. Without it, they are only loaded.
  static constexpr size_t kMostPlaces = 12;

 public:
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& analyses,
                              llvm::LoopStandardAnalysisResults& results,
                              llvm::LPMUpdater& updater) {
    if (!Progressions(loop, results.LI, results.SE).NeedReduction())
      return llvm::PreservedAnalyses::all();
    if (!loop.isInnermost() || loop.getLoopPreheader() == nullptr)
      return llvm::LoopStrengthReducePass().run(loop, analyses, results, updater);
    HiddenSums sums(loop, results.SE);
    sums.Hide();
    if (!HasMorePlaces(kMostPlaces, loop, results.SE))
      llvm::LoopStrengthReducePass().run(loop, analyses, results, updater);
    sums.Show();
    results.SE.forgetLoop(&loop);
    return llvm::getLoopPassPreservedAnalyses();
  }
};

}  // namespace

llvm::PreservedAnalyses ReduceStrength::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager& analyses) {
  if (IsLong(function)) return llvm::PreservedAnalyses::all();
  HiddenQuotients quotients;
  quotients.Hide(function);
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  analyses.invalidate(function, kept);
  llvm::createFunctionToLoopPassAdaptor(ReduceLoop()).run(function, analyses);
  quotients.Show();
  return llvm::PreservedAnalyses::none();
}

}  // namespace kdl::codegen
