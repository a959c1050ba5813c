#include "codegen/llvm/optimize/widen_half.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace kdl::codegen {

namespace {

bool IsHalf(const llvm::Type* type) { return type->getScalarType()->isHalfTy(); }

/// Returns whether the processor computes the operation on half. Five operations give the same bits in half
/// as in f32 with a second rounding, since f32 has more than twice as many significant bits.
bool IsNative(const llvm::Instruction& instruction) {
  if (!instruction.getFunction()->hasFnAttribute(kComputesHalf)) return false;
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return true;
    default: {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      return call && call->getIntrinsicID() == llvm::Intrinsic::sqrt;
    }
  }
}

/// Narrows a square root that is computed in f32 but whose operand and result are half.
void NarrowRoot(llvm::Instruction& instruction) {
  auto* narrow = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
  auto* root = narrow ? llvm::dyn_cast<llvm::IntrinsicInst>(narrow->getOperand(0)) : nullptr;
  if (!root || root->getIntrinsicID() != llvm::Intrinsic::sqrt || !IsHalf(narrow->getType()) ||
      !narrow->getFunction()->hasFnAttribute(kComputesHalf))
    return;
  auto* wide = llvm::dyn_cast<llvm::FPExtInst>(root->getArgOperand(0));
  if (!wide || !IsHalf(wide->getSrcTy())) return;
  llvm::IRBuilder<> builder(narrow);
  narrow->replaceAllUsesWith(
      builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, wide->getOperand(0)));
}

/// Returns whether the instruction does arithmetic on half values. Conversions, memory accesses and shuffles
/// do not.
bool ComputesOnHalf(const llvm::Instruction& instruction) {
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    return IsHalf(call->getType()) && call->getCalledFunction()->isIntrinsic();
  }
  return (instruction.isBinaryOp() || instruction.isUnaryOp() ||
          llvm::isa<llvm::FCmpInst>(instruction)) &&
         IsHalf(instruction.getOperand(0)->getType());
}

llvm::Value* Widened(llvm::IRBuilder<>& builder, llvm::Value* value) {
  if (!IsHalf(value->getType())) return value;
  return builder.CreateFPExt(value, value->getType()->getWithNewType(builder.getFloatTy()));
}

llvm::Value* OnFloat(llvm::IRBuilder<>& builder, llvm::Instruction& instruction) {
  std::vector<llvm::Value*> operands;
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    for (llvm::Value* argument : call->args()) operands.push_back(Widened(builder, argument));
    return builder.CreateIntrinsic(call->getType()->getWithNewType(builder.getFloatTy()),
                                   call->getIntrinsicID(), operands);
  }
  for (llvm::Value* operand : instruction.operands()) operands.push_back(Widened(builder, operand));
  if (auto* compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction)) {
    return builder.CreateFCmp(compare->getPredicate(), operands[0], operands[1]);
  }
  if (instruction.isUnaryOp()) return builder.CreateFNeg(operands[0]);
  return builder.CreateBinOp(static_cast<llvm::Instruction::BinaryOps>(instruction.getOpcode()),
                             operands[0], operands[1]);
}

}  // namespace

void WidenHalf(llvm::Module& module) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      NarrowRoot(instruction);
      if (ComputesOnHalf(instruction) && !IsNative(instruction)) found.push_back(&instruction);
    }
  }
  for (llvm::Instruction* instruction : found) {
    llvm::IRBuilder<> builder(instruction);
    llvm::Value* value = OnFloat(builder, *instruction);
    if (IsHalf(instruction->getType()))
      value = builder.CreateFPTrunc(value, instruction->getType());
    instruction->replaceAllUsesWith(value);
    instruction->eraseFromParent();
  }
}

}  // namespace kdl::codegen
