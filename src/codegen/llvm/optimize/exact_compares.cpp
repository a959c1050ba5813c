#include "codegen/llvm/optimize/exact_compares.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>

#include <unordered_set>
#include <vector>

namespace kdl::codegen {

namespace {

bool TestsForNaN(const llvm::FCmpInst& compare) {
  return compare.getPredicate() == llvm::CmpInst::FCMP_UNO ||
         compare.getPredicate() == llvm::CmpInst::FCMP_ORD;
}

bool IsMinMax(const llvm::IntrinsicInst& call) {
  return call.getIntrinsicID() == llvm::Intrinsic::minimum ||
         call.getIntrinsicID() == llvm::Intrinsic::maximum;
}

/// Turns `%x < C` into `canonicalize(%x) < C`. The result is the same for every number and for NaN, but no
/// pass looks through the `canonicalize`.
class HideCompared : public llvm::PassInfoMixin<HideCompared> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    std::vector<llvm::FCmpInst*> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
      if (!compare || TestsForNaN(*compare)) continue;
      if (llvm::isa<llvm::Constant>(compare->getOperand(0))) compare->swapOperands();
      if (!llvm::isa<llvm::Constant>(compare->getOperand(0))) found.push_back(compare);
    }
    for (llvm::FCmpInst* compare : found) {
      llvm::IRBuilder<> builder(compare);
      llvm::Value* compared = compare->getOperand(0);
      compare->setOperand(0, builder.CreateUnaryIntrinsic(llvm::Intrinsic::canonicalize, compared));
    }
    return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }
};

class ShowCompared : public llvm::PassInfoMixin<ShowCompared> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    std::vector<llvm::IntrinsicInst*> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call && call->getIntrinsicID() == llvm::Intrinsic::canonicalize) found.push_back(call);
    }
    for (llvm::IntrinsicInst* call : found) {
      call->replaceAllUsesWith(call->getArgOperand(0));
      call->eraseFromParent();
    }
    return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
  }
};

/// Provides access to a protected member of TargetLowering.
class Lowering : public llvm::TargetLowering {
 public:
  static void Expand(llvm::TargetLoweringBase& lowering, unsigned operation, llvm::MVT type) {
    using SetAction = void (llvm::TargetLoweringBase::*)(unsigned, llvm::MVT, LegalizeAction);
    SetAction set_action = &Lowering::setOperationAction;
    (lowering.*set_action)(operation, type, LegalizeAction::Expand);
  }
};

}  // namespace

void AddInstCombine(llvm::FunctionPassManager& passes) {
  passes.addPass(HideCompared());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(ShowCompared());
}

void ForbidMinMaxNumber(const llvm::TargetMachine& machine, const llvm::Module& module) {
  std::unordered_set<const llvm::TargetLoweringBase*> seen;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const auto* lowering = machine.getSubtargetImpl(function)->getTargetLowering();
    if (!seen.insert(lowering).second) continue;
    // `lowering` may be changed although it is const: the machine owns it, and all functions with the same
    // features share it.
    auto& actions = const_cast<llvm::TargetLowering&>(*lowering);
    for (unsigned operation : {llvm::ISD::FMINNUM, llvm::ISD::FMAXNUM, llvm::ISD::FMINNUM_IEEE,
                               llvm::ISD::FMAXNUM_IEEE}) {
      for (llvm::MVT type : llvm::MVT::fp_valuetypes()) Lowering::Expand(actions, operation, type);
      for (llvm::MVT type : llvm::MVT::fp_fixedlen_vector_valuetypes())
        Lowering::Expand(actions, operation, type);
      for (llvm::MVT type : llvm::MVT::fp_scalable_vector_valuetypes())
        Lowering::Expand(actions, operation, type);
    }
  }
}

void HideNumbers(const llvm::TargetMachine& machine, llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!machine.getSubtargetImpl(function)->checkFeatures("+avx512dq")) continue;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getType()->isVectorTy() || !IsMinMax(*call)) continue;
      llvm::IRBuilder<> builder(call);
      for (llvm::Use& operand : call->args()) {
        if (llvm::isa<llvm::Constant>(operand)) continue;
        operand.set(builder.CreateArithmeticFence(operand, operand->getType()));
      }
    }
  }
}

void HideMinMax(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      llvm::Value* one = nullptr;
      llvm::Value* other = nullptr;
      if (!select) continue;
      llvm::SelectPatternFlavor flavor = llvm::matchSelectPattern(select, one, other).Flavor;
      if (flavor != llvm::SPF_FMINNUM && flavor != llvm::SPF_FMAXNUM) continue;
      llvm::IRBuilder<> builder(select);
      select->setCondition(builder.CreateFreeze(select->getCondition()));
    }
  }
}

}  // namespace kdl::codegen
