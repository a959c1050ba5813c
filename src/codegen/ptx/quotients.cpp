#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/ptx/emitter.h"

// Expands f32 divisions by the same divisor, such as those of a vector's elements by the sum of their row. The assembler
// would compute a reciprocal for each of them, and would test each whether its operands are in the range of a short
// sequence. Here, they share the reciprocal and one branch:
//
//   %r = rcp.approx %d ; %inverse = fma (fma -%d, %r, 1), %r, %r          after the definition of %d, perhaps before a loop
//   %q = mul %a, %inverse ; %x = fma (fma -%d, %q, %a), %inverse, %q                                    for each dividend
//   if (an operand is out of range) { div.rn … }
//
// This sequence is that of the assembler. In the range that is tested here, which is shorter than the assembler's, no
// step overflows or underflows. With reciprocals that are off by at most one in the last place, it was correct for all
// significands of divisors, and 24 dividends for each of them.

namespace kdl::codegen::ptx {

namespace {

// The exponents of operands, with f32's bias of 127: quotients are between 2^-120 and 2^120, and remainders are multiples
// of 2^-108.
constexpr uint32_t kLeastExponent = 127 - 60;
constexpr uint32_t kExponents = 120;
constexpr uint32_t kExponentPlace = 24;  // after the sign bit has been shifted out
// More quotients would keep more dividends in registers until the branch.
constexpr size_t kMostOfGroup = 8;

using Group = std::vector<llvm::Instruction*>;

bool IsQuotient(const llvm::Instruction& instruction) {
  return instruction.getOpcode() == llvm::Instruction::FDiv && instruction.getType()->isFloatTy() &&
         !llvm::isa<llvm::Constant>(instruction.getOperand(0)) &&
         !llvm::isa<llvm::Constant>(instruction.getOperand(1));
}

/// Returns groups of divisions by the same divisor. Nothing before the last division of a group uses the others.
std::vector<Group> GroupsIn(llvm::BasicBlock& block) {
  std::vector<Group> groups;
  llvm::MapVector<const llvm::Value*, Group> open;
  auto close = [&](const llvm::Value* divisor) {
    Group& group = open[divisor];
    if (group.size() > 1) groups.push_back(group);
    group.clear();
  };
  for (llvm::Instruction& instruction : block) {
    for (const llvm::Value* used : instruction.operand_values()) {
      const auto* quotient = llvm::dyn_cast<llvm::Instruction>(used);
      if (!quotient || !IsQuotient(*quotient)) continue;
      const llvm::Value* divisor = quotient->getOperand(1);
      auto found = open.find(divisor);
      if (found != open.end() && std::ranges::count(found->second, quotient) > 0) close(divisor);
    }
    if (!IsQuotient(instruction)) continue;
    Group& group = open[instruction.getOperand(1)];
    group.push_back(&instruction);
    if (group.size() == kMostOfGroup) close(instruction.getOperand(1));
  }
  for (auto& [divisor, group] : open) {
    if (group.size() > 1) groups.push_back(group);
  }
  return groups;
}

llvm::Value* MultiplyAdd(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

/// Emits whether the operand is in the range of the short sequence.
llvm::Value* IsInRange(llvm::IRBuilder<>& b, llvm::Value* operand) {
  llvm::Value* bits = b.CreateShl(b.CreateBitCast(operand, b.getInt32Ty()), 1);
  llvm::Value* over = b.CreateSub(bits, b.getInt32(kLeastExponent << kExponentPlace));
  return b.CreateICmpULT(over, b.getInt32(kExponents << kExponentPlace));
}

struct Reciprocal {
  llvm::Value* negative;  ///< the divisor with the opposite sign
  llvm::Value* inverse;
  llvm::Value* is_in_range;
};

class QuotientWriter {
 public:
  explicit QuotientWriter(llvm::Function& function) : function_(function) {}

  void WriteOut(const Group& group) {
    llvm::Instruction* last = group.back();
    const Reciprocal& by = ReciprocalOf(last->getOperand(1));
    llvm::IRBuilder<> b(last);
    std::vector<llvm::Value*> short_ways;
    llvm::Value* in_range = by.is_in_range;
    for (llvm::Instruction* division : group) {
      llvm::Value* a = division->getOperand(0);
      short_ways.push_back(ShortWay(b, a, by));
      in_range = b.CreateAnd(in_range, IsInRange(b, a));
    }
    llvm::BasicBlock* head = last->getParent();
    llvm::Instruction* end =
        llvm::SplitBlockAndInsertIfThen(b.CreateNot(in_range), last, /*Unreachable=*/false);
    for (size_t i = 0; i < group.size(); ++i) {
      llvm::Instruction* long_way = group[i]->clone();
      long_way->insertBefore(end);
      b.SetInsertPoint(last->getParent(), last->getParent()->begin());
      llvm::PHINode* quotient = b.CreatePHI(last->getType(), 2);
      quotient->addIncoming(short_ways[i], head);
      quotient->addIncoming(long_way, end->getParent());
      group[i]->replaceAllUsesWith(quotient);
    }
    for (llvm::Instruction* division : group) division->eraseFromParent();
  }

 private:
  static llvm::Value* ShortWay(llvm::IRBuilder<>& b, llvm::Value* a, const Reciprocal& by) {
    llvm::Value* quotient = b.CreateFMul(a, by.inverse);
    llvm::Value* remainder = MultiplyAdd(b, by.negative, quotient, a);
    return MultiplyAdd(b, remainder, by.inverse, quotient);
  }

  const Reciprocal& ReciprocalOf(llvm::Value* divisor) {
    auto [known, is_new] = known_.try_emplace(divisor);
    if (!is_new) return known->second;
    llvm::BasicBlock::iterator at = function_.getEntryBlock().getFirstInsertionPt();
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(divisor))
      at = *made->getInsertionPointAfterDef();
    llvm::IRBuilder<> b(at->getParent(), at);
    llvm::Value* negative = b.CreateFNeg(divisor);
    llvm::Value* about = b.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {divisor});
    llvm::Value* one = llvm::ConstantFP::get(divisor->getType(), 1);
    llvm::Value* inverse = MultiplyAdd(b, MultiplyAdd(b, negative, about, one), about, about);
    return known->second = {negative, inverse, IsInRange(b, divisor)};
  }

  llvm::Function& function_;
  std::map<llvm::Value*, Reciprocal> known_;
};

}  // namespace

void WriteOutQuotients(llvm::Function& function) {
  std::vector<Group> groups;
  // A divisor that is itself such a quotient is expanded first.
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function)) {
    std::vector<Group> found = GroupsIn(*block);
    groups.insert(groups.end(), found.begin(), found.end());
  }
  QuotientWriter writer(function);
  for (const Group& group : groups) writer.WriteOut(group);
}

}  // namespace kdl::codegen::ptx
