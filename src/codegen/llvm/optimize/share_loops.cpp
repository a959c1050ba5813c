#include "codegen/llvm/optimize/share_loops.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "codegen/llvm/optimize/long_functions.h"
#include "codegen/llvm/optimize/share_functions.h"

namespace kdl::codegen {

namespace {

/// A call costs some nanoseconds, and takes code itself.
constexpr size_t kFewestInstructions = 50;
/// More arguments would be stored and loaded as often as the values of a short loop.
constexpr size_t kMostInputs = 40;

/// What a loop computes from its inputs: loops with equal shapes do the same, except that only ShareFunctions compares their
/// metadata.
using Shape = std::vector<uintptr_t>;

class ShapeMaker {
 public:
  explicit ShapeMaker(const llvm::Loop& loop) : loop_(loop) {
    for (const llvm::BasicBlock* block : loop.blocks()) {
      Number(block);
      for (const llvm::Instruction& one : *block) Number(&one);
    }
    for (const llvm::BasicBlock* block : loop.blocks())
      for (const llvm::Instruction& one : *block) Add(one);
  }

  Shape Take() { return std::move(shape_); }
  /// Whether the loop only computes what it stores, from numbers and addresses.
  bool is_closed() const { return is_closed_; }
  size_t inputs() const { return inputs_; }

 private:
  void Number(const llvm::Value* value) { numbers_.try_emplace(value, numbers_.size()); }
  template <typename T>
  void Add(T word) {
    if constexpr (std::is_pointer_v<T>)
      shape_.push_back(reinterpret_cast<uintptr_t>(word));
    else
      shape_.push_back(static_cast<uintptr_t>(word));
  }

  void Add(const llvm::Instruction& one) {
    Add(one.getOpcode());
    Add(one.getType());
    Add(one.getRawSubclassOptionalData());
    AddDetails(one);
    Add(one.getNumOperands());
    for (const llvm::Use& operand : one.operands()) AddOperand(operand.get());
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&one))
      for (const llvm::BasicBlock* from : phi->blocks()) AddOperand(from);
    for (const llvm::User* user : one.users())
      is_closed_ &= loop_.contains(llvm::cast<llvm::Instruction>(user));
    is_closed_ &=
        !llvm::isa<llvm::AllocaInst>(one) && !one.isEHPad() && !one.getType()->isTokenTy();
  }

  void AddDetails(const llvm::Instruction& one) {
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&one)) Add(compare->getPredicate());
    if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&one))
      Add(address->getSourceElementType());
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&one)) Add(load->getAlign().value());
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) Add(store->getAlign().value());
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&one))
      Add(call->getAttributes().getRawPointer());
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&one))
      for (int lane : shuffle->getShuffleMask()) Add(static_cast<unsigned>(lane));
    if (one.isAtomic()) is_closed_ = false;
  }

  void AddOperand(const llvm::Value* operand) {
    if (llvm::isa<llvm::Constant>(operand) || llvm::isa<llvm::MetadataAsValue>(operand))
      return Add(operand);
    const auto* block = llvm::dyn_cast<llvm::BasicBlock>(operand);
    auto [found, is_new] = numbers_.try_emplace(operand, numbers_.size());
    if (is_new && block == nullptr) {
      ++inputs_;
      is_closed_ &= operand->getType()->isIntegerTy() || operand->getType()->isPointerTy() ||
                    operand->getType()->isFloatingPointTy();
      Add(operand->getType());
    }
    Add(found->second);
  }

  const llvm::Loop& loop_;
  llvm::DenseMap<const llvm::Value*, size_t> numbers_;
  Shape shape_;
  size_t inputs_ = 0;
  bool is_closed_ = true;
};

/// The loops of a function.
struct Loops {
  explicit Loops(llvm::Function& function) : dominators(function), loops(dominators) {}

  llvm::DominatorTree dominators;
  llvm::LoopInfo loops;
};

/// Removes alias scopes in which the function accesses nothing. They belong to the tensors that only the rest of a kernel uses.
void ForgetOtherScopes(llvm::Function& function) {
  llvm::SmallPtrSet<const llvm::Metadata*, 8> used;
  for (const llvm::Instruction& one : llvm::instructions(function))
    if (const llvm::MDNode* scopes = one.getMetadata(llvm::LLVMContext::MD_alias_scope))
      for (const llvm::MDOperand& scope : scopes->operands()) used.insert(scope.get());
  for (llvm::Instruction& one : llvm::instructions(function)) {
    const llvm::MDNode* scopes = one.getMetadata(llvm::LLVMContext::MD_noalias);
    if (scopes == nullptr) continue;
    llvm::SmallVector<llvm::Metadata*, 8> kept;
    for (const llvm::MDOperand& scope : scopes->operands())
      if (used.contains(scope.get())) kept.push_back(scope.get());
    one.setMetadata(llvm::LLVMContext::MD_noalias,
                    kept.empty() ? nullptr : llvm::MDNode::get(function.getContext(), kept));
  }
}

size_t Instructions(const llvm::Loop& loop) {
  size_t count = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) count += block->size();
  return count;
}

/// The loops of a module, by what they compute.
class AlikeLoops {
 public:
  void Find(llvm::Function& function) {
    MarkIfLong(function);
    auto& found = *functions_.emplace_back(std::make_unique<Loops>(function));
    for (const llvm::Loop* loop : found.loops) Find(*loop);
  }

  /// Moves the outermost loops whose shape is not unique. Returns whether there are some.
  bool Extract() {
    for (const std::unique_ptr<Loops>& one : functions_)
      for (const llvm::Loop* loop : one->loops) Choose(*loop);
    for (const llvm::Loop* loop : chosen_) {
      llvm::Function& function = *loop->getHeader()->getParent();
      const std::vector<llvm::BasicBlock*> blocks(loop->block_begin(), loop->block_end());
      const llvm::CodeExtractorAnalysisCache cache(function);
      llvm::CodeExtractor extractor(blocks);
      if (!extractor.isEligible()) continue;
      if (llvm::Function* moved = extractor.extractCodeRegion(cache)) ForgetOtherScopes(*moved);
    }
    return !chosen_.empty();
  }

 private:
  void Find(const llvm::Loop& loop) {
    if (Instructions(loop) < kFewestInstructions) return;
    for (const llvm::Loop* inner : loop) Find(*inner);
    if (loop.getUniqueExitBlock() == nullptr) return;
    ShapeMaker maker(loop);
    if (!maker.is_closed() || maker.inputs() > kMostInputs) return;
    const llvm::Function& function = *loop.getHeader()->getParent();
    Shape shape = maker.Take();
    for (const char* kind : {"target-cpu", "target-features", "tune-cpu"})
      shape.push_back(reinterpret_cast<uintptr_t>(function.getFnAttribute(kind).getRawPointer()));
    shape.push_back(IsLong(function) ? 1 : 0);
    auto group = groups_.try_emplace(std::move(shape), 0).first;
    ++group->second;
    group_of_[&loop] = &group->second;
  }

  void Choose(const llvm::Loop& loop) {
    auto group = group_of_.find(&loop);
    if (group != group_of_.end() && *group->second > 1) {
      chosen_.push_back(&loop);
    } else {
      for (const llvm::Loop* inner : loop) Choose(*inner);
    }
  }

  std::vector<std::unique_ptr<Loops>> functions_;
  std::map<Shape, size_t> groups_;  ///< how many loops have each shape
  llvm::DenseMap<const llvm::Loop*, const size_t*> group_of_;
  std::vector<const llvm::Loop*> chosen_;
};

}  // namespace

llvm::PreservedAnalyses ShareLoops::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  if (module.getNamedMetadata("llvm.dbg.cu") != nullptr) return llvm::PreservedAnalyses::all();
  AlikeLoops loops;
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) loops.Find(function);
  if (!loops.Extract()) return llvm::PreservedAnalyses::all();
  ShareFunctions(module);
  return llvm::PreservedAnalyses::none();
}

}  // namespace kdl::codegen
