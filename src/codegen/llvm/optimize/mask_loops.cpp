#include "codegen/llvm/optimize/mask_loops.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <utility>
#include <vector>

// Expands a masked access to a loop over the lanes that the mask selects. The loop copies one element after
// another between memory and a vector on the stack:
//
//   masked.store %v, %p, {0, 1, …} < %n     ->   store %v, %lanes ; for %i in 0 .. %n: store (load %lanes[%i]), %p[%i]
//   %v = masked.load %p, {0, 1, …} < %n     ->   store %none, %lanes ;
//                                                for …: store (load %p[%i]), %lanes[%i] ; %v = load %lanes

namespace kdl::codegen {

namespace {

/// A masked load or store.
struct Access {
  llvm::IntrinsicInst* call;
  bool stores;

  llvm::Value* address() const { return call->getArgOperand(stores ? 1 : 0); }
  /// Returns the value to store or, for a load, the value of the lanes that are not loaded.
  llvm::Value* value() const { return call->getArgOperand(stores ? 0 : 3); }
  llvm::Value* mask() const { return call->getArgOperand(stores ? 3 : 2); }
  llvm::Align align() const {
    return llvm::cast<llvm::ConstantInt>(call->getArgOperand(stores ? 2 : 1))->getAlignValue();
  }
  bool is_fixed() const { return llvm::isa<llvm::FixedVectorType>(value()->getType()); }
  llvm::FixedVectorType* type() const {
    return llvm::cast<llvm::FixedVectorType>(value()->getType());
  }
  llvm::Align element_align() const {
    auto bytes = type()->getElementType()->getScalarSizeInBits() / 8;
    return llvm::commonAlignment(align(), bytes);
  }
};

bool IsNative(const llvm::TargetTransformInfo& processor, const Access& access) {
  return access.stores ? processor.isLegalMaskedStore(access.type(), access.align())
                       : processor.isLegalMaskedLoad(access.type(), access.align());
}

std::vector<Access> MaskedAccesses(llvm::Function& function,
                                   const llvm::TargetTransformInfo& processor) {
  std::vector<Access> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call) continue;
    bool stores = call->getIntrinsicID() == llvm::Intrinsic::masked_store;
    if (!stores && call->getIntrinsicID() != llvm::Intrinsic::masked_load) continue;
    Access access{call, stores};
    // Accesses to scalable vectors need no expansion. LLVM itself has created them, and it masks such
    // accesses only if the processor supports that.
    if (access.is_fixed() && !IsNative(processor, access)) found.push_back(access);
  }
  return found;
}

/// Returns whether the lanes are the constants 0, 1, 2, … in order.
bool AreNumbers(const llvm::Value* lanes) {
  const auto* numbers = llvm::dyn_cast<llvm::ConstantDataVector>(lanes);
  if (!numbers) return false;
  for (unsigned i = 0; i < numbers->getNumElements(); ++i) {
    if (numbers->getElementAsInteger(i) != i) return false;
  }
  return true;
}

/// Returns the number of leading lanes that the mask selects, as an i64 created at the builder's insertion
/// point. Returns null if the mask has a different form.
llvm::Value* CountSelectedLanes(llvm::IRBuilder<>& b, llvm::Value* mask) {
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(mask);
  if (!compare) return nullptr;
  llvm::CmpInst::Predicate predicate = compare->getPredicate();
  llvm::Value* numbers = compare->getOperand(0);
  llvm::Value* counts = compare->getOperand(1);
  if (AreNumbers(counts)) {
    std::swap(numbers, counts);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  bool is_less = predicate == llvm::CmpInst::ICMP_SLT || predicate == llvm::CmpInst::ICMP_ULT;
  llvm::Value* count = llvm::getSplatValue(counts);
  if (!is_less || !count || !AreNumbers(numbers)) return nullptr;
  auto lanes = llvm::cast<llvm::FixedVectorType>(numbers->getType())->getNumElements();
  count = b.CreateIntCast(count, b.getInt64Ty(), llvm::CmpInst::isSigned(predicate));
  return b.CreateBinaryIntrinsic(
      llvm::CmpInst::isSigned(predicate) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, count,
      b.getInt64(lanes));
}

void SetScopes(llvm::Instruction* element, const llvm::Instruction& access) {
  for (unsigned kind : {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias})
    element->setMetadata(kind, access.getMetadata(kind));
}

/// Copies one element from memory to its lane or back, in the loop's body.
void MoveElement(llvm::IRBuilder<>& b, const Access& access, llvm::Value* lanes,
                 llvm::Value* index) {
  llvm::Type* element = access.type()->getElementType();
  llvm::Value* lane = b.CreateInBoundsGEP(element, lanes, index);
  llvm::Value* place = b.CreateGEP(element, access.address(), index);
  llvm::LoadInst* load =
      b.CreateAlignedLoad(element, access.stores ? lane : place, access.element_align());
  llvm::StoreInst* store =
      b.CreateAlignedStore(load, access.stores ? place : lane, access.element_align());
  SetScopes(access.stores ? static_cast<llvm::Instruction*>(store) : load, *access.call);
}

void MakeLoop(const Access& access) {
  llvm::IntrinsicInst* call = access.call;
  llvm::IRBuilder<> b(call);
  llvm::Value* count = CountSelectedLanes(b, access.mask());
  if (!count) return;
  llvm::BasicBlock& entry = call->getFunction()->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* lanes = first.CreateAlloca(access.type());
  b.CreateStore(access.value(), lanes);
  llvm::Value* some = b.CreateICmpSGT(count, b.getInt64(0));
  llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(some, call, /*Unreachable=*/false);
  auto [body, index] = llvm::SplitBlockAndInsertSimpleForLoop(count, then);
  llvm::IRBuilder<> in_body(body);
  MoveElement(in_body, access, lanes, index);
  if (!access.stores) {
    b.SetInsertPoint(call);
    call->replaceAllUsesWith(b.CreateLoad(access.type(), lanes));
  }
  call->eraseFromParent();
}

}  // namespace

void MakeMaskLoops(llvm::Module& module, llvm::FunctionAnalysisManager& analyses) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const auto& processor = analyses.getResult<llvm::TargetIRAnalysis>(function);
    for (const Access& access : MaskedAccesses(function, processor)) MakeLoop(access);
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
  }
}

}  // namespace kdl::codegen
