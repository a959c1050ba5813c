#include "codegen/llvm/optimize/mask_loops.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <utility>
#include <vector>

#include "codegen/llvm/optimize/long_functions.h"

// Expands a masked access to a loop over the lanes that the mask selects. The loop copies one element after
// another between memory and a vector on the stack:
//
//   masked.store %v, %p, {0, 1, …} < %n     ->   store %v, %lanes ; for %i in 0 .. %n: store (load %lanes[%i]), %p[%i]
//   %v = masked.load %p, {0, 1, …} < %n     ->   store %none, %lanes ;
//                                                for …: store (load %p[%i]), %lanes[%i] ; %v = load %lanes
//
// On x86 processors without mask registers, it stores in parts instead, each half as long as the one before. There,
// some processors take dozens of cycles for a masked store, which is an instruction for lanes of 32 bits and more:
//
//   masked.store %v, %p, {0, 1, …, 7} < %n  ->   if %n >= 8: store %v, %p ; else:
//                                                if %n & 4: store %v[0 .. 4], %p ; if %n & 2: … ; if %n & 1: …

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

/// Functions of several processor levels can be in one module.
bool HasMaskRegisters(const llvm::TargetMachine& machine, const llvm::Function& function) {
  return machine.getSubtargetImpl(function)->checkFeatures("+avx512vl");
}

/// Returns the accesses to expand: those that are not instructions, and stores in parts.
std::vector<Access> MaskedAccesses(llvm::Function& function,
                                   const llvm::TargetTransformInfo& processor, bool in_parts) {
  std::vector<Access> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call) continue;
    bool stores = call->getIntrinsicID() == llvm::Intrinsic::masked_store;
    if (!stores && call->getIntrinsicID() != llvm::Intrinsic::masked_load) continue;
    Access access{call, stores};
    // Accesses to scalable vectors need no expansion. LLVM itself has created them, and it masks such
    // accesses only if the processor supports that.
    if (!access.is_fixed()) continue;
    if ((stores && in_parts) || !IsNative(processor, access)) found.push_back(access);
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

/// Returns the lanes from `first` to `first + count` of a vector, as a scalar if there is only one.
llvm::Value* PartOf(llvm::IRBuilder<>& b, llvm::Value* vector, unsigned first, unsigned count) {
  if (count == 1) return b.CreateExtractElement(vector, first);
  return b.CreateShuffleVector(vector, llvm::createSequentialMask(first, count, 0));
}

llvm::Value* MakePhi(llvm::IRBuilder<>& b, llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* c,
                     llvm::BasicBlock* from_c) {
  llvm::PHINode* phi = b.CreatePHI(a->getType(), 2);
  phi->addIncoming(a, from_a);
  phi->addIncoming(c, from_c);
  return phi;
}

/// Stores the first `count` lanes, which are fewer than all lanes, in parts before the instruction.
void StoreParts(const Access& access, llvm::Value* count, llvm::Instruction* before) {
  llvm::Value* rest = access.value();
  llvm::Value* place = access.address();
  for (unsigned lanes = access.type()->getNumElements() / 2; lanes > 0; lanes /= 2) {
    llvm::IRBuilder<> b(before);
    llvm::Value* low = PartOf(b, rest, 0, lanes);
    llvm::Value* high = PartOf(b, rest, lanes, lanes);
    llvm::Value* has_part = b.CreateIsNotNull(b.CreateAnd(count, b.getInt64(lanes)));
    llvm::BasicBlock* head = before->getParent();
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(has_part, before, false);
    llvm::IRBuilder<> in_then(then);
    llvm::StoreInst* store = in_then.CreateAlignedStore(low, place, access.element_align());
    SetScopes(store, *access.call);
    llvm::Value* next = in_then.CreateConstGEP1_64(access.type()->getElementType(), place, lanes);
    if (lanes == 1) continue;
    llvm::BasicBlock* end = before->getParent();
    llvm::IRBuilder<> after(end, end->begin());
    rest = MakePhi(after, high, then->getParent(), low, head);
    place = MakePhi(after, next, then->getParent(), place, head);
  }
}

void StoreInParts(const Access& access, llvm::Value* count) {
  llvm::IntrinsicInst* call = access.call;
  llvm::IRBuilder<> b(call);
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b.getInt64(0));
  llvm::Value* is_full = b.CreateICmpSGE(count, b.getInt64(access.type()->getNumElements()));
  llvm::Instruction* whole = nullptr;
  llvm::Instruction* parts = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(is_full, call, &whole, &parts);
  b.SetInsertPoint(whole);
  SetScopes(b.CreateAlignedStore(access.value(), access.address(), access.element_align()), *call);
  StoreParts(access, count, parts);
  call->eraseFromParent();
}

void MakeLoop(const Access& access, bool in_parts) {
  llvm::IntrinsicInst* call = access.call;
  llvm::IRBuilder<> b(call);
  llvm::Value* count = CountSelectedLanes(b, access.mask());
  if (!count) return;
  if (access.stores && in_parts) return StoreInParts(access, count);
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

void MakeMaskLoops(llvm::Module& module, llvm::FunctionAnalysisManager& analyses,
                   const llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const auto& processor = analyses.getResult<llvm::TargetIRAnalysis>(function);
    // Long functions, such as those of products, have many masked stores that few iterations reach.
    bool in_parts = machine.getTargetTriple().isX86() && !HasMaskRegisters(machine, function) &&
                    !IsLong(function);
    for (const Access& access : MaskedAccesses(function, processor, in_parts))
      MakeLoop(access, in_parts);
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
  }
}

}  // namespace kdl::codegen
