#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/optimize/finite_bits.h"
#include "codegen/llvm/soft/soft_float.h"
#include "ir/attr.h"
#include "ir/op.h"
#include "ir/op_info.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/scalar.h"

// Elementwise ops on scalars and vectors. An f16 or bf16 is widened to f32, which represents it exactly, and
// the result is rounded back. Since f32 has at least twice as many significant bits plus two, the result is
// correctly rounded.

namespace kdl::codegen {

namespace {

using ir::OpKind;
using llvm::Intrinsic::ID;

/// Returns an operand in the type in which the op computes. A scalar is copied to all lanes if the op's
/// result is a vector.
llvm::Value* Operand(Emitter& emitter, const ir::Op* op, size_t i) {
  const ir::Value* value = op->operand(i);
  Scalar scalar = value->type()->scalar;
  llvm::Value* bits = emitter.Get(value);
  if (IsNarrowFloat(scalar)) bits = WidenNarrowFloat(emitter, scalar, bits);
  return Splat(emitter, bits, ir::Lanes(op->result()->type()));
}

/// Returns an operand in the type in which it is stored. A scalar is copied to all lanes if the op's result
/// is a vector.
llvm::Value* KeptOperand(Emitter& emitter, const ir::Op* op, size_t i) {
  return Splat(emitter, emitter.Get(op->operand(i)), ir::Lanes(op->result()->type()));
}

/// Sets the op's result to `value`, which has the type that Operand returns.
void SetComputed(Emitter& emitter, const ir::Op* op, llvm::Value* value) {
  Scalar scalar = op->result()->type()->scalar;
  if (IsNarrowFloat(scalar)) value = EmitCast(emitter, value, Scalar::F32, scalar);
  emitter.Set(op->result(), value);
}

Scalar OperandScalar(const ir::Op* op) { return op->operand(0)->type()->scalar; }

// -- The operation for each group of types -----------------------------------------------------------

/// Selects the operation for floats, signed integers or other types. A bool is a one-bit unsigned integer.
template <class T>
T ByGroup(const ir::Op* op, T of_float, T of_signed, T of_unsigned, T none) {
  Scalar scalar = OperandScalar(op);
  T operation = IsFloat(scalar) ? of_float : IsSigned(scalar) ? of_signed : of_unsigned;
  KDL_CHECK(operation != none, "'{}' of {} cannot be emitted", op->info().spelling,
            Spelling(scalar));
  return operation;
}

using BinaryOps = llvm::Instruction::BinaryOps;
constexpr BinaryOps kNoBinary = llvm::Instruction::BinaryOpsEnd;

using Predicate = llvm::CmpInst::Predicate;
constexpr Predicate kNoPredicate = Predicate::BAD_ICMP_PREDICATE;

constexpr ID kNone = llvm::Intrinsic::not_intrinsic;

// -- Emission -------------------------------------------------------------------------------------

template <BinaryOps of_float, BinaryOps of_signed, BinaryOps of_unsigned>
void EmitBinary(Emitter& emitter, ir::Op* op) {
  BinaryOps instruction = ByGroup(op, of_float, of_signed, of_unsigned, kNoBinary);
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  SetComputed(emitter, op, emitter.builder.CreateBinOp(instruction, a, b));
}

template <BinaryOps of_signed, BinaryOps of_unsigned>
void EmitShift(Emitter& emitter, ir::Op* op) {
  BinaryOps instruction = ByGroup(op, kNoBinary, of_signed, of_unsigned, kNoBinary);
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  auto* mask = llvm::ConstantInt::get(b->getType(), b->getType()->getScalarSizeInBits() - 1);
  llvm::Value* count = emitter.builder.CreateAnd(b, mask);
  SetComputed(emitter, op, emitter.builder.CreateBinOp(instruction, a, count));
}

template <Predicate of_float, Predicate of_signed, Predicate of_unsigned>
void EmitCompare(Emitter& emitter, ir::Op* op) {
  Predicate predicate = ByGroup(op, of_float, of_signed, of_unsigned, kNoPredicate);
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  emitter.Set(op->result(), emitter.builder.CreateCmp(predicate, a, b));
}

/// Emits the intrinsic for the type of the operands. llvm.maximum and llvm.minimum propagate NaN and order
/// -0 before +0.
template <ID of_float, ID of_signed, ID of_unsigned>
void EmitIntrinsic(Emitter& emitter, ir::Op* op) {
  ID id = ByGroup(op, of_float, of_signed, of_unsigned, kNone);
  std::vector<llvm::Value*> operands;
  operands.reserve(op->operands().size());
  for (size_t i = 0; i < op->operands().size(); ++i) operands.push_back(Operand(emitter, op, i));
  SetComputed(emitter, op, emitter.builder.CreateIntrinsic(operands[0]->getType(), id, operands));
}

/// Returns whether LLVM's own code for the maximum and minimum of two vectors is slow: on x86, it has three blends.
/// With a constant operand, it is simpler.
bool IsSlowExtremum(const Emitter& emitter, const ir::Op* op, const llvm::Value* a,
                    const llvm::Value* b) {
  return IsFloat(OperandScalar(op)) && a->getType()->isVectorTy() &&
         !llvm::isa<llvm::Constant>(a) && !llvm::isa<llvm::Constant>(b) &&
         llvm::Triple(emitter.module.getTargetTriple()).isX86();
}

/// Emits the maximum (of `predicate` ogt) or minimum (olt) of a and b, and of b and a, as integers. An instruction
/// returns its second operand if the operands are equal or one of them is NaN. So the two differ only if one operand
/// is NaN, or if the operands are -0 and +0: then each of the two is one operand.
template <Predicate predicate>
std::pair<llvm::Value*, llvm::Value*> BothWays(Emitter& emitter, llvm::Value* a, llvm::Value* b) {
  auto& builder = emitter.builder;
  llvm::Type* bits = llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(a->getType()));
  auto one = [&](llvm::Value* x, llvm::Value* y) {
    llvm::Value* chosen = builder.CreateSelect(builder.CreateFCmp(predicate, x, y), x, y);
    return builder.CreateBitCast(chosen, bits);
  };
  llvm::Value* first = one(a, b);
  return {first, one(b, a)};
}

/// Merges the maxima of both ways with one instruction of AVX-512, or returns null. The sign is `and`, which gives +0 unless
/// both are -0, and the other bits are `or`, which gives a NaN if one is NaN. That is what most of three bits are if the
/// third one is the inverse of the sign's mask.
llvm::Value* MergeMaxima(Emitter& emitter, llvm::Value* first, llvm::Value* second) {
  struct Merge {
    unsigned lanes, bits;
    ID id;
  };
  constexpr std::array<Merge, 6> kMerges = {{{4, 32, llvm::Intrinsic::x86_avx512_pternlog_d_128},
                                             {8, 32, llvm::Intrinsic::x86_avx512_pternlog_d_256},
                                             {16, 32, llvm::Intrinsic::x86_avx512_pternlog_d_512},
                                             {2, 64, llvm::Intrinsic::x86_avx512_pternlog_q_128},
                                             {4, 64, llvm::Intrinsic::x86_avx512_pternlog_q_256},
                                             {8, 64, llvm::Intrinsic::x86_avx512_pternlog_q_512}}};
  constexpr int kMostOfThree = 0b11101000;
  auto* type = llvm::cast<llvm::FixedVectorType>(first->getType());
  auto found = std::ranges::find_if(kMerges, [&](const Merge& merge) {
    return merge.lanes == type->getNumElements() && merge.bits == type->getScalarSizeInBits();
  });
  bool has = (emitter.code.required_features >> KDL_FEATURE_BIT_X86_AVX512VL & 1) != 0;
  if (!has || found == kMerges.end()) return nullptr;
  auto& builder = emitter.builder;
  auto* others = llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(found->bits));
  return builder.CreateIntrinsic(found->id, {},
                                 {first, second, others, builder.getInt32(kMostOfThree)});
}

void EmitMax(Emitter& emitter, ir::Op* op) {
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  if (!IsSlowExtremum(emitter, op, a, b))
    return EmitIntrinsic<llvm::Intrinsic::maximum, llvm::Intrinsic::smax, llvm::Intrinsic::umax>(
        emitter, op);
  auto [first, second] = BothWays<Predicate::FCMP_OGT>(emitter, a, b);
  if (llvm::Value* merged = MergeMaxima(emitter, first, second))
    return SetComputed(emitter, op, emitter.builder.CreateBitCast(merged, a->getType()));
  // `and` gives +0 unless both are -0. A result with all bits set is a NaN.
  auto& builder = emitter.builder;
  llvm::Value* both = builder.CreateAnd(first, second);
  llvm::Value* nan = llvm::Constant::getAllOnesValue(both->getType());
  both = builder.CreateSelect(builder.CreateFCmpUNO(a, b), nan, both);
  SetComputed(emitter, op, builder.CreateBitCast(both, a->getType()));
}

void EmitMin(Emitter& emitter, ir::Op* op) {
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  if (!IsSlowExtremum(emitter, op, a, b))
    return EmitIntrinsic<llvm::Intrinsic::minimum, llvm::Intrinsic::smin, llvm::Intrinsic::umin>(
        emitter, op);
  // `or` gives -0 unless both are +0, and a NaN if one is NaN.
  auto [first, second] = BothWays<Predicate::FCMP_OLT>(emitter, a, b);
  auto& builder = emitter.builder;
  SetComputed(emitter, op, builder.CreateBitCast(builder.CreateOr(first, second), a->getType()));
}

void EmitFmaOp(Emitter& emitter, ir::Op* op) {
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  SetComputed(emitter, op, EmitFma(emitter, a, b, Operand(emitter, op, 2)));
}

constexpr float kLeastNormal = std::numeric_limits<float>::min();

/// Returns a zero with the value's sign where the condition is true.
llvm::Value* ZeroWhere(Emitter& emitter, llvm::Value* condition, llvm::Value* value) {
  auto& builder = emitter.builder;
  llvm::Value* zero = llvm::ConstantFP::get(value->getType(), 0.0);
  zero = builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, value);
  return builder.CreateSelect(condition, zero, value);
}

llvm::Value* IsBelow(Emitter& emitter, llvm::Value* value, float limit) {
  llvm::Value* magnitude = emitter.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  return emitter.builder.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(value->getType(), limit));
}

void EmitFlush(Emitter& emitter, ir::Op* op) {
  llvm::Value* a = Operand(emitter, op, 0);
  SetComputed(emitter, op, ZeroWhere(emitter, IsBelow(emitter, a, kLeastNormal), a));
}

/// Rounds to nearest, ties to even: adds half of the last kept bit's value, minus one if that bit is 0, then
/// clears the dropped bits.
void EmitTf32(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* a = Operand(emitter, op, 0);
  constexpr uint64_t kGone = 13;  // number of dropped bits
  llvm::Type* integer = a->getType()->getWithNewType(builder.getInt32Ty());
  auto number = [&](uint64_t value) { return llvm::ConstantInt::get(integer, value); };
  llvm::Value* bits = builder.CreateBitCast(a, integer);
  llvm::Value* odd = builder.CreateAnd(builder.CreateLShr(bits, kGone), number(1));
  llvm::Value* half = builder.CreateAdd(odd, number((uint64_t{1} << (kGone - 1)) - 1));
  llvm::Value* rounded =
      builder.CreateAnd(builder.CreateAdd(bits, half), number(0xffffffff << kGone & 0xffffffff));
  llvm::Value* is_finite = IsBelow(emitter, a, std::numeric_limits<float>::infinity());
  SetComputed(emitter, op,
              builder.CreateSelect(is_finite, builder.CreateBitCast(rounded, a->getType()), a));
}

/// Flushes a result to 0 if its magnitude, rounded to full precision, is below the least normal number. A
/// second sum, scaled by 2^32, decides that: it represents numbers just below the limit with full precision.
/// If scaled factors or the scaled sum overflow, the comparison is false, and the unscaled sum is not near 0
/// anyway.
void EmitFmaFlush(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  llvm::Value* c = Operand(emitter, op, 2);
  constexpr float kScale = 0x1p32F;
  auto scaled = [&](llvm::Value* value) {
    return builder.CreateFMul(value, llvm::ConstantFP::get(value->getType(), kScale));
  };
  auto sum = [&](llvm::Value* x, llvm::Value* z) { return EmitFma(emitter, x, b, z); };
  llvm::Value* large = sum(scaled(a), scaled(c));
  llvm::Value* tiny = IsBelow(emitter, large, kLeastNormal * kScale);
  SetComputed(emitter, op, ZeroWhere(emitter, tiny, sum(a, c)));
}

void EmitNeg(Emitter& emitter, ir::Op* op) {
  llvm::Value* a = Operand(emitter, op, 0);
  SetComputed(
      emitter, op,
      IsFloat(OperandScalar(op)) ? emitter.builder.CreateFNeg(a) : emitter.builder.CreateNeg(a));
}

void EmitAbs(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* a = Operand(emitter, op, 0);
  if (IsFloat(OperandScalar(op))) {
    a = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  } else if (IsSigned(OperandScalar(op))) {
    a = builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder.getFalse());
  }
  SetComputed(emitter, op, a);
}

void EmitNot(Emitter& emitter, ir::Op* op) {
  emitter.Set(op->result(), emitter.builder.CreateNot(emitter.Get(op->operand(0))));
}

void EmitSelect(Emitter& emitter, ir::Op* op) {
  // The condition need not be copied to all lanes: a scalar condition selects one of two whole vectors.
  emitter.Set(op->result(),
              emitter.builder.CreateSelect(emitter.Get(op->operand(0)), KeptOperand(emitter, op, 1),
                                           KeptOperand(emitter, op, 2)));
}

void EmitConst(Emitter& emitter, ir::Op* op) {
  auto bits = static_cast<uint64_t>(op->attr<ir::AttrKey::Bits>());
  llvm::Type* type = RegisterType(emitter.context(), op->result()->type()->scalar);
  llvm::APInt pattern(type->getScalarSizeInBits(), bits);
  llvm::Constant* constant =
      type->isFloatingPointTy()
          ? llvm::ConstantFP::get(type, llvm::APFloat(type->getFltSemantics(), pattern))
          : llvm::ConstantInt::get(type, pattern);
  emitter.Set(op->result(), constant);
}

// -- Division -------------------------------------------------------------------------------------

/// Returns a divisor that avoids the undefined case of LLVM's sdiv and srem: the smallest integer divided by
/// -1. With 1 instead of -1, the remainder is 0 as it should be, and EmitFloorDivide corrects the sign of
/// the quotient.
llvm::Value* SafeDivisor(Emitter& emitter, llvm::Value* b, llvm::Value** is_minus_one) {
  auto* minus_one = llvm::ConstantInt::getSigned(b->getType(), -1);
  *is_minus_one = emitter.builder.CreateICmpEQ(b, minus_one);
  return emitter.builder.CreateSelect(*is_minus_one, llvm::ConstantInt::get(b->getType(), 1), b);
}

/// Returns whether truncating division rounded up instead of down: the remainder is not 0 and has the
/// opposite sign of b.
llvm::Value* WentUp(Emitter& emitter, llvm::Value* remainder, llvm::Value* b) {
  auto& builder = emitter.builder;
  auto* zero = llvm::ConstantInt::get(b->getType(), 0);
  llvm::Value* other_sign = builder.CreateICmpSLT(builder.CreateXor(remainder, b), zero);
  return builder.CreateAnd(builder.CreateICmpNE(remainder, zero), other_sign);
}

/// Returns a constant that is a positive power of two as a signed number, else null.
const llvm::APInt* PowerOfTwo(const llvm::Value* b) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  bool is_power = constant && !constant->isNegative() && constant->getValue().isPowerOf2();
  return is_power ? &constant->getValue() : nullptr;
}

void TrapOnZero(Emitter& emitter, const ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* b = emitter.Get(op->operand(1));
  llvm::Value* ok = builder.CreateICmpNE(b, llvm::ConstantInt::get(b->getType(), 0));
  auto* known = llvm::dyn_cast<llvm::Constant>(ok);
  if (known && known->isAllOnesValue()) return;
  if (ok->getType()->isVectorTy()) ok = builder.CreateAndReduce(ok);
  TrapUnless(emitter, ok, LocationOf(op, KDL_TRAP_DIVISION), builder.getInt64(0),
             builder.getInt64(0));
}

/// Returns whether a division is executed once and takes long: x86 takes up to 40 cycles for 64 bits. Most
/// such divisions distribute blocks over cores.
bool IsWorthSkipping(const Emitter& emitter, const ir::Op* op, const llvm::Value* b) {
  return emitter.loop_depth == 0 && OperandScalar(op) == Scalar::I64 &&
         !b->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(b) &&
         llvm::Triple(emitter.module.getTargetTriple()).isX86();
}

/// Emits floor(a / b), and skips the division if b is 1 or larger than a, as in launches with one core or one
/// block.
llvm::Value* EmitSkippedDivide(Emitter& emitter, llvm::Value* a, llvm::Value* b) {
  auto& builder = emitter.builder;
  auto* zero = llvm::ConstantInt::get(b->getType(), 0);
  llvm::Value* is_one = builder.CreateICmpEQ(b, llvm::ConstantInt::get(b->getType(), 1));
  llvm::Value* is_less =
      builder.CreateAnd(builder.CreateICmpSGT(b, zero), builder.CreateICmpULT(a, b));
  llvm::Value* known = builder.CreateSelect(is_one, a, zero);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::BasicBlock* divide = emitter.NewBlock("divide");
  llvm::BasicBlock* join = emitter.NewBlock("divided");
  builder.CreateCondBr(builder.CreateOr(is_one, is_less), join, divide);
  builder.SetInsertPoint(divide);
  llvm::Value* divided = EmitFloorDivide(emitter, a, b, true);
  builder.CreateBr(join);
  builder.SetInsertPoint(join);
  llvm::PHINode* quotient = builder.CreatePHI(b->getType(), 2);
  quotient->addIncoming(known, before);
  quotient->addIncoming(divided, divide);
  return quotient;
}

/// Returns the quotient of the operands of `op`, a remainder, if it was computed before in the same region,
/// else null.
llvm::Value* EmittedQuotient(const Emitter& emitter, const ir::Op* op) {
  for (const ir::Use& use : op->operand(0)->uses()) {
    const ir::Op* other = use.user;
    if (other->kind() != OpKind::Div || other->parent_region() != op->parent_region() ||
        other->operand(0) != op->operand(0) || other->operand(1) != op->operand(1))
      continue;
    auto found = emitter.scalars.find(other->result());
    if (found != emitter.scalars.end()) return found->second;
  }
  return nullptr;
}

void EmitDiv(Emitter& emitter, ir::Op* op) {
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  if (IsFloat(OperandScalar(op))) return SetComputed(emitter, op, emitter.builder.CreateFDiv(a, b));
  TrapOnZero(emitter, op);
  emitter.Set(op->result(), IsWorthSkipping(emitter, op, b)
                                ? EmitSkippedDivide(emitter, a, b)
                                : EmitFloorDivide(emitter, a, b, IsSigned(OperandScalar(op))));
}

void EmitRem(Emitter& emitter, ir::Op* op) {
  KDL_CHECK(IsInteger(OperandScalar(op)), "'rem' of {} cannot be emitted",
            Spelling(OperandScalar(op)));
  llvm::Value* a = Operand(emitter, op, 0);
  llvm::Value* b = Operand(emitter, op, 1);
  TrapOnZero(emitter, op);
  if (IsWorthSkipping(emitter, op, b)) {
    llvm::Value* quotient = EmittedQuotient(emitter, op);
    if (!quotient) quotient = EmitSkippedDivide(emitter, a, b);
    auto& builder = emitter.builder;
    return emitter.Set(op->result(), builder.CreateSub(a, builder.CreateMul(quotient, b)));
  }
  emitter.Set(op->result(), EmitFloorModulo(emitter, a, b, IsSigned(OperandScalar(op))));
}

// -- Bit patterns ---------------------------------------------------------------------------------

void EmitToBits(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* a = emitter.Get(op->operand(0));
  llvm::Type* type = RegisterType(emitter.context(), op->result()->type());
  KDL_CHECK(!IsNarrowFloat(OperandScalar(op)), "'to_bits' of {} cannot be emitted",
            Spelling(OperandScalar(op)));
  llvm::Value* bits = builder.CreateBitCast(a, type);
  if (CountsOnlyFinite(op)) return emitter.Set(op->result(), bits);
  uint64_t quiet =
      type->getScalarSizeInBits() == 32 ? uint64_t{0x7FC00000} : uint64_t{0x7FF8000000000000};
  emitter.Set(op->result(), builder.CreateSelect(builder.CreateFCmpUNO(a, a),
                                                 llvm::ConstantInt::get(type, quiet), bits));
}

void EmitFromBits(Emitter& emitter, ir::Op* op) {
  llvm::Type* type = RegisterType(emitter.context(), op->result()->type());
  emitter.Set(op->result(), emitter.builder.CreateBitCast(emitter.Get(op->operand(0)), type));
}

}  // namespace

llvm::Value* EmitFloorDivide(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed) {
  auto& builder = emitter.builder;
  if (!is_signed) return builder.CreateUDiv(a, b);
  if (const llvm::APInt* power = PowerOfTwo(b)) return builder.CreateAShr(a, power->logBase2());
  llvm::Value* is_minus_one = nullptr;
  llvm::Value* safe = SafeDivisor(emitter, b, &is_minus_one);
  llvm::Value* went_up = WentUp(emitter, builder.CreateSRem(a, safe), b);
  llvm::Value* quotient =
      builder.CreateSub(builder.CreateSDiv(a, safe), builder.CreateZExt(went_up, a->getType()));
  return builder.CreateSelect(is_minus_one, builder.CreateNeg(a), quotient);
}

llvm::Value* EmitFloorModulo(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed) {
  auto& builder = emitter.builder;
  if (!is_signed) return builder.CreateURem(a, b);
  if (const llvm::APInt* power = PowerOfTwo(b)) return builder.CreateAnd(a, *power - 1);
  llvm::Value* is_minus_one = nullptr;
  llvm::Value* safe = SafeDivisor(emitter, b, &is_minus_one);
  llvm::Value* remainder = builder.CreateSRem(a, safe);
  llvm::Value* went_up = WentUp(emitter, remainder, b);
  auto* zero = llvm::ConstantInt::get(b->getType(), 0);
  return builder.CreateAdd(remainder, builder.CreateSelect(went_up, b, zero));
}

llvm::Value* EmitFma(Emitter& emitter, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  if (!emitter.code.has_fma) return EmitSoftFma(emitter.builder, a, b, c, emitter.code.level);
  return emitter.builder.CreateIntrinsic(a->getType(), llvm::Intrinsic::fma, {a, b, c});
}

KDL_EMIT(Const, EmitConst)
KDL_EMIT(Flush, EmitFlush)
KDL_EMIT(Tf32, EmitTf32)
KDL_EMIT(FmaFlush, EmitFmaFlush)
KDL_EMIT(Neg, EmitNeg)
KDL_EMIT(Abs, EmitAbs)
KDL_EMIT(Not, EmitNot)
KDL_EMIT(Select, EmitSelect)
KDL_EMIT(Div, EmitDiv)
KDL_EMIT(Rem, EmitRem)
KDL_EMIT(ToBits, EmitToBits)
KDL_EMIT(FromBits, EmitFromBits)
KDL_EMIT(Add, (EmitBinary<llvm::Instruction::FAdd, llvm::Instruction::Add, llvm::Instruction::Add>))
KDL_EMIT(Sub, (EmitBinary<llvm::Instruction::FSub, llvm::Instruction::Sub, llvm::Instruction::Sub>))
KDL_EMIT(Mul, (EmitBinary<llvm::Instruction::FMul, llvm::Instruction::Mul, llvm::Instruction::Mul>))
KDL_EMIT(And, (EmitBinary<kNoBinary, llvm::Instruction::And, llvm::Instruction::And>))
KDL_EMIT(Or, (EmitBinary<kNoBinary, llvm::Instruction::Or, llvm::Instruction::Or>))
KDL_EMIT(Xor, (EmitBinary<kNoBinary, llvm::Instruction::Xor, llvm::Instruction::Xor>))
KDL_EMIT(Shl, (EmitShift<llvm::Instruction::Shl, llvm::Instruction::Shl>))
KDL_EMIT(Shr, (EmitShift<llvm::Instruction::AShr, llvm::Instruction::LShr>))
KDL_EMIT(Eq, (EmitCompare<Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ>))
KDL_EMIT(Ne, (EmitCompare<Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE>))
KDL_EMIT(Lt, (EmitCompare<Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT>))
KDL_EMIT(Le, (EmitCompare<Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE>))
KDL_EMIT(Gt, (EmitCompare<Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT>))
KDL_EMIT(Ge, (EmitCompare<Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE>))
KDL_EMIT(Min, EmitMin)
KDL_EMIT(Max, EmitMax)
KDL_EMIT(Fma, EmitFmaOp)
KDL_EMIT(Floor, (EmitIntrinsic<llvm::Intrinsic::floor, kNone, kNone>))
KDL_EMIT(Ceil, (EmitIntrinsic<llvm::Intrinsic::ceil, kNone, kNone>))
KDL_EMIT(Round, (EmitIntrinsic<llvm::Intrinsic::roundeven, kNone, kNone>))
KDL_EMIT(Sqrt, (EmitIntrinsic<llvm::Intrinsic::sqrt, kNone, kNone>))

}  // namespace kdl::codegen
