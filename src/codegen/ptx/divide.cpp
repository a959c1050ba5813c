#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/ValueHandle.h>

#include <algorithm>
#include <vector>

#include "codegen/ptx/emitter.h"

// Expands 64-bit divisions. The assembler would turn them into calls to a function of its own, and registers
// would be spilled around these calls. The expansion approximates 2^64 / d from below. It starts with the f32
// reciprocal, whose relative error is less than 2^-21. Two Newton steps follow, each of which squares the
// error. The result is too small by less than 2, so the quotient is too small by at most 2.

namespace kdl::codegen::ptx {

namespace {

constexpr unsigned kBits = 64;
// Covers the rounding errors of d as f32, of its reciprocal, and of the product.
constexpr double kBelow = 1 - 0x1p-21;
constexpr int kSteps = 2;
constexpr int kCorrections = 2;

struct Quotient {
  llvm::Value* quotient;
  llvm::Value* remainder;
};

/// Divides unsigned numbers. The divisor must not be 0.
Quotient DivideUnsigned(llvm::IRBuilder<>& b, llvm::Value* a, llvm::Value* d) {
  llvm::Type* f32 = b.getFloatTy();
  auto high = [&](llvm::Value* x, llvm::Value* y) {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ull, {}, {x, y});
  };
  llvm::Value* inverse =
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {b.CreateUIToFP(d, f32)});
  llvm::Value* scaled = b.CreateFMul(inverse, llvm::ConstantFP::get(f32, kBelow * 0x1p64));
  llvm::Value* workgroup = b.CreateFPToUI(scaled, b.getInt64Ty());
  llvm::Value* negative = b.CreateNeg(d);
  for (int i = 0; i < kSteps; ++i)
    workgroup = b.CreateAdd(workgroup, high(workgroup, b.CreateMul(negative, workgroup)));
  llvm::Value* quotient = high(a, workgroup);
  llvm::Value* remainder = b.CreateSub(a, b.CreateMul(quotient, d));
  for (int i = 0; i < kCorrections; ++i) {
    llvm::Value* fits = b.CreateICmpUGE(remainder, d);
    quotient = b.CreateAdd(quotient, b.CreateZExt(fits, b.getInt64Ty()));
    remainder = b.CreateSelect(fits, b.CreateSub(remainder, d), remainder);
  }
  return {quotient, remainder};
}

/// Divides signed numbers, rounding toward zero. The remainder has the sign of the dividend.
Quotient DivideSigned(llvm::IRBuilder<>& b, llvm::Value* a, llvm::Value* d) {
  auto sign = [&](llvm::Value* value) -> llvm::Value* {
    bool is_positive = llvm::isKnownNonNegative(
        value, llvm::SimplifyQuery(b.GetInsertBlock()->getModule()->getDataLayout()));
    return is_positive ? static_cast<llvm::Value*>(b.getInt64(0)) : b.CreateAShr(value, kBits - 1);
  };
  auto transposed = [&](llvm::Value* value, llvm::Value* by) {
    return b.CreateSub(b.CreateXor(value, by), by);
  };
  llvm::Value* of_a = sign(a);
  llvm::Value* of_d = sign(d);
  Quotient made = DivideUnsigned(b, transposed(a, of_a), transposed(d, of_d));
  return {transposed(made.quotient, b.CreateXor(of_a, of_d)), transposed(made.remainder, of_a)};
}

/// A division that has been expanded. Later divisions with the same operands reuse it.
struct Written {
  llvm::WeakTrackingVH a;  // the dividend may itself be a division that is expanded later
  llvm::WeakTrackingVH d;
  bool is_signed;
  const llvm::Instruction* at;
  Quotient made;
};

bool IsDivision(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      // Divisions by constants need no expansion, because LLVM turns them into multiplications.
      return instruction.getType()->isIntegerTy(kBits) &&
             !llvm::isa<llvm::Constant>(instruction.getOperand(1));
    default:
      return false;
  }
}

void WriteOut(llvm::Function& function) {
  std::vector<llvm::Instruction*> divisions;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (IsDivision(instruction)) divisions.push_back(&instruction);
  }
  llvm::DominatorTree order(function);
  std::vector<Written> written;
  for (llvm::Instruction* division : divisions) {
    unsigned opcode = division->getOpcode();
    bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
    bool is_rest = opcode == llvm::Instruction::URem || opcode == llvm::Instruction::SRem;
    llvm::Value* a = division->getOperand(0);
    llvm::Value* d = division->getOperand(1);
    auto known = std::ranges::find_if(written, [&](const Written& one) {
      return one.a == a && one.d == d && one.is_signed == is_signed &&
             order.dominates(one.at, division);
    });
    if (known == written.end()) {
      llvm::IRBuilder<> b(division);
      Quotient made = is_signed ? DivideSigned(b, a, d) : DivideUnsigned(b, a, d);
      const auto* at = llvm::cast<llvm::Instruction>(made.quotient);
      known = written.insert(written.end(), {a, d, is_signed, at, made});
    }
    const Quotient& made = known->made;
    division->replaceAllUsesWith(is_rest ? made.remainder : made.quotient);
    division->eraseFromParent();
  }
}

}  // namespace

void WriteOutDivisions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    WriteOut(function);
    WriteOutQuotients(function);
  }
}

}  // namespace kdl::codegen::ptx
