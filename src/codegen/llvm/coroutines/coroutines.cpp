#include "codegen/llvm/coroutines/coroutines.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Coroutines/CoroCleanup.h>
#include <llvm/Transforms/Coroutines/CoroEarly.h>
#include <llvm/Transforms/Coroutines/CoroSplit.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kdl/kernel_abi.h"
#include "support/check.h"

namespace kdl::codegen {

namespace {

constexpr const char* kFrame = "kdl.frame";

// A value that is live across a suspension goes into the coroutine's frame, and LLVM reloads it in every
// block that uses it: in an inner loop, once per iteration. Therefore each loop without suspensions uses
// copies that are made before the loop. The copies are removed after LLVM has split the coroutine.

bool Suspends(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::coro_suspend)
        return true;
    }
  }
  return false;
}

/// Returns whether a loop might reload the value from a frame. Constants and stack addresses are never
/// reloaded.
bool MayBeInFrame(const llvm::Value* value, const llvm::Loop& loop) {
  if (!llvm::isa<llvm::Instruction, llvm::Argument>(value) || loop.isLoopInvariant(value) == false)
    return false;
  if (value->getType()->isTokenTy()) return false;
  bool is_address = value->getType()->isPointerTy();
  return !is_address || !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(value));
}

void CopyBefore(const llvm::Loop& loop) {
  llvm::BasicBlock* before = loop.getLoopPreheader();
  if (!before) return;
  llvm::IRBuilder<> builder(before->getTerminator());
  llvm::DenseMap<llvm::Value*, llvm::Value*> copies;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (llvm::isa<llvm::PHINode>(instruction)) continue;  // its operands are used in predecessors
      for (llvm::Use& use : instruction.operands()) {
        if (!MayBeInFrame(use.get(), loop)) continue;
        llvm::Value*& copy = copies[use.get()];
        if (!copy) {
          copy = builder.CreateIntrinsic(llvm::Intrinsic::ssa_copy, {use->getType()}, {use.get()});
        }
        use.set(copy);
      }
    }
  }
}

void CopyBeforeLoops(llvm::Function& coroutine) {
  llvm::DominatorTree dominators(coroutine);
  llvm::LoopInfo loops(dominators);
  std::vector<llvm::Loop*> list(loops.begin(), loops.end());
  while (!list.empty()) {
    llvm::Loop* loop = list.back();
    list.pop_back();
    if (Suspends(*loop)) {
      list.insert(list.end(), loop->begin(), loop->end());
    } else {
      CopyBefore(*loop);
    }
  }
}

void RemoveCopies(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.getIntrinsicID() != llvm::Intrinsic::ssa_copy) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* copy = llvm::cast<llvm::CallInst>(user);
      copy->replaceAllUsesWith(copy->getArgOperand(0));
      copy->eraseFromParent();
    }
    function.eraseFromParent();
  }
}

/// Returns whether the value is cheap enough to recompute after a suspension instead of keeping it. This
/// matters most for vectors made from scalars.
bool IsCheap(llvm::Instruction& instruction) {
  if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
    return !operation->isIntDivRem() && operation->getOpcode() != llvm::Instruction::FDiv;
  return llvm::isa<llvm::CastInst, llvm::GetElementPtrInst, llvm::CmpInst, llvm::SelectInst,
                   llvm::InsertElementInst, llvm::ShuffleVectorInst>(instruction);
}

/// Removes code that only destroys coroutines or elides their allocation, since the kernel does neither.
void RemoveDestroyers(llvm::Module& module, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (auto* table = module.getNamedGlobal(name + ".resumers"); table && table->use_empty())
      table->eraseFromParent();
    for (const char* suffix : {".destroy", ".cleanup"}) {
      llvm::Function* function = module.getFunction(name + suffix);
      KDL_CHECK(function, "there is no function {}{}", name, suffix);
      function->replaceAllUsesWith(llvm::Constant::getNullValue(function->getType()));
      function->eraseFromParent();
    }
  }
}

}  // namespace

llvm::Value* EmitFrame(llvm::IRBuilder<>& builder, llvm::Value* scratch) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  auto frame = module.getOrInsertFunction(kFrame, builder.getPtrTy(), builder.getPtrTy(),
                                          builder.getInt64Ty());
  llvm::Value* size =
      builder.CreateIntrinsic(llvm::Intrinsic::coro_size, {builder.getInt64Ty()}, {});
  return builder.CreateCall(frame, {scratch, size});
}

bool SplitCoroutines(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  std::vector<std::string> names;
  for (llvm::Function& function : module) {
    if (!function.isPresplitCoroutine()) continue;
    names.push_back(function.getName().str());
    CopyBeforeLoops(function);
  }
  if (names.empty()) return false;
  llvm::ModulePassManager passes;
  passes.addPass(llvm::CoroEarlyPass());
  passes.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(
      llvm::CoroSplitPass(IsCheap, /*OptimizeFrame=*/true)));
  passes.addPass(llvm::CoroCleanupPass());
  passes.run(module, analyses);
  RemoveCopies(module);
  RemoveDestroyers(module, names);
  analyses.clear();
  return true;
}

namespace {

/// Places a coroutine's frame at offset `bytes`, and adds the size of the frame to `bytes`. The function
/// `start` begins the coroutine.
void PlaceFrame(llvm::Function* frame, llvm::Function* start, int64_t& bytes) {
  auto place = std::find_if(frame->user_begin(), frame->user_end(), [&](llvm::User* user) {
    return llvm::cast<llvm::CallInst>(user)->getFunction() == start;
  });
  KDL_CHECK(place != frame->user_end(), "{} does not use the frame", start->getName().str());
  auto* call = llvm::cast<llvm::CallInst>(*place);
  auto size = llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getSExtValue();
  llvm::IRBuilder<> builder(call);
  call->replaceAllUsesWith(builder.CreateConstInBoundsGEP1_64(
      builder.getInt8Ty(), call->getArgOperand(0), static_cast<uint64_t>(bytes)));
  call->eraseFromParent();
  constexpr int64_t kAlign = KDL_SCRATCH_ALIGNMENT;
  bytes += (size + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

void PlaceFrames(llvm::Module& module, std::span<KernelCode> kernels) {
  llvm::Function* frame = module.getFunction(kFrame);
  if (!frame) return;
  for (KernelCode& kernel : kernels) {
    for (const std::string& stage : kernel.stages)
      PlaceFrame(frame, module.getFunction(stage), kernel.scratch_bytes);
    if (!kernel.resumable.empty())
      PlaceFrame(frame, module.getFunction(kernel.resumable), kernel.frame_bytes);
  }
  frame->eraseFromParent();
}

}  // namespace kdl::codegen
