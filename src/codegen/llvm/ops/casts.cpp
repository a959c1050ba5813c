#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/TargetParser/Triple.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/soft/soft_float.h"
#include "ir/op.h"
#include "ir/op_kind.h"
#include "support/check.h"
#include "support/scalar.h"

// Conversions, each rounded once. Narrow floats are converted through an f32 that is rounded to odd:
// truncated, with the last bit set if any dropped bit was set. Rounding this f32 to 11 bits or fewer gives
// the same result as rounding the original number.

namespace kdl::codegen {

namespace {

// The format of f32.
constexpr int kFloatFraction = 23;
constexpr int kBias = 127;
constexpr uint64_t kInfinityBits = 0x7f800000;
constexpr uint64_t kNan = 0x7fc00000;

/// Converts f64 to f32, rounded to odd. NaN and infinity are preserved.
llvm::Value* RoundToOdd(Emitter& emitter, llvm::Value* value) {
  auto& builder = emitter.builder;
  llvm::Type* f32 = WithLanesOf(value, builder.getFloatTy());
  llvm::Value* nearest = builder.CreateFPTrunc(value, f32);
  llvm::Value* back = builder.CreateFPExt(nearest, value->getType());
  llvm::Value* bits = builder.CreateBitCast(nearest, WithLanesOf(value, builder.getInt32Ty()));
  llvm::Value* too_large =
      builder.CreateFCmpOGT(builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                            builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* truncated = builder.CreateSub(bits, builder.CreateZExt(too_large, bits->getType()));
  llvm::Value* odd = builder.CreateOr(truncated, 1);
  llvm::Value* inexact = builder.CreateFCmpONE(back, value);
  return builder.CreateBitCast(builder.CreateSelect(inexact, odd, bits), f32);
}

/// Like Bf16FromF32, with instructions of NVIDIA's GPUs, which round one or two numbers.
llvm::Value* Bf16ByInstruction(Emitter& emitter, llvm::Value* value) {
  auto& builder = emitter.builder;
  llvm::Type* result = WithLanesOf(value, builder.getInt16Ty());
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (!type) {
    llvm::Value* rounded = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_f2bf16_rn, {}, {value});
    return builder.CreateBitCast(rounded, result);
  }
  llvm::Value* all = llvm::PoisonValue::get(result);
  for (unsigned lane = 0; lane + 1 < type->getNumElements(); lane += 2) {
    llvm::Value* lower = builder.CreateExtractElement(value, uint64_t{lane});
    llvm::Value* upper = builder.CreateExtractElement(value, uint64_t{lane} + 1);
    llvm::Value* pair =
        builder.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {}, {upper, lower});
    pair = builder.CreateBitCast(pair, llvm::FixedVectorType::get(builder.getInt16Ty(), 2));
    for (unsigned half : {0U, 1U}) {
      llvm::Value* one = builder.CreateExtractElement(pair, uint64_t{half});
      all = builder.CreateInsertElement(all, one, uint64_t{lane} + half);
    }
  }
  return all;
}

/// Converts f32 to the bits of a bf16, rounded to nearest, ties to even. NaN stays NaN.
llvm::Value* Bf16FromF32(Emitter& emitter, llvm::Value* value) {
  if (llvm::Triple(emitter.module.getTargetTriple()).isNVPTX())
    return Bf16ByInstruction(emitter, value);
  auto& builder = emitter.builder;
  llvm::Value* bits = builder.CreateBitCast(value, WithLanesOf(value, builder.getInt32Ty()));
  llvm::Value* last = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value* bias = builder.CreateAdd(last, llvm::ConstantInt::get(last->getType(), 0x7FFF));
  llvm::Value* rounded = builder.CreateAdd(bits, bias);
  llvm::Value* quiet = builder.CreateOr(bits, 0x00400000);
  llvm::Value* result = builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
  return builder.CreateTrunc(builder.CreateLShr(result, 16),
                             WithLanesOf(value, builder.getInt16Ty()));
}

/// Returns the distance in bits from the sign of a narrow float to the sign of f32.
uint64_t SignShift(const FloatFormat& format) {
  return static_cast<uint64_t>(31 - std::countr_zero(format.sign()));
}

/// Converts f32 to the bits of a float that has only powers of two and the exponents of f32. The lowest bit of the
/// exponent decides ties. Below the normal numbers of f32, the fraction of 2^-127 is one half.
llvm::Value* PowerFromF32(Emitter& emitter, llvm::Value* value, const ScalarInfo& to) {
  auto& builder = emitter.builder;
  auto number = [&](uint64_t of) {
    return llvm::ConstantInt::get(WithLanesOf(value, builder.getInt32Ty()), of);
  };
  constexpr uint64_t kHalf = uint64_t{1} << (kFloatFraction - 1);
  llvm::Value* bits = builder.CreateBitCast(value, WithLanesOf(value, builder.getInt32Ty()));
  llvm::Value* last = builder.CreateAnd(builder.CreateLShr(bits, kFloatFraction), 1);
  llvm::Value* sum = builder.CreateAdd(builder.CreateAdd(bits, last), number(kHalf - 1));
  llvm::Value* few =
      builder.CreateZExt(builder.CreateICmpUGT(bits, number(kHalf + kHalf / 2)), bits->getType());
  llvm::Value* is_few = builder.CreateICmpULT(bits, number(2 * kHalf));
  llvm::Value* rounded = builder.CreateSelect(is_few, few, builder.CreateLShr(sum, kFloatFraction));
  llvm::Value* most =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rounded, number(to.format.largest()));
  // As unsigned integers, NaN and all negative numbers are larger than infinity.
  llvm::Value* is_other = builder.CreateICmpUGT(bits, number(kInfinityBits));
  llvm::Value* is_zero = builder.CreateICmpEQ(bits, number(uint64_t{1} << 31));
  llvm::Value* result = builder.CreateSelect(
      is_zero, number(0), builder.CreateSelect(is_other, number(to.format.nan()), most));
  return builder.CreateTrunc(result,
                             WithLanesOf(value, RegisterType(emitter.context(), to.scalar)));
}

/// Widens such a float to f32.
llvm::Value* WidenPower(Emitter& emitter, const FloatFormat& format, llvm::Value* narrow) {
  auto& builder = emitter.builder;
  llvm::Type* wide = WithLanesOf(narrow, builder.getInt32Ty());
  auto number = [&](uint64_t of) { return llvm::ConstantInt::get(wide, of); };
  llvm::Value* bits = builder.CreateZExt(narrow, wide);
  llvm::Value* power = builder.CreateSelect(builder.CreateICmpEQ(bits, number(0)),
                                            number(uint64_t{1} << (kFloatFraction - 1)),
                                            builder.CreateShl(bits, kFloatFraction));
  llvm::Value* result =
      builder.CreateSelect(builder.CreateICmpEQ(bits, number(format.nan())), number(kNan), power);
  return builder.CreateBitCast(result, WithLanesOf(narrow, builder.getFloatTy()));
}

/// Converts f32 to the bits of a narrower float. A subnormal result is rounded by adding a number whose last
/// bit has the value of the smallest subnormal.
llvm::Value* NarrowFromF32(Emitter& emitter, llvm::Value* value, const ScalarInfo& to) {
  const FloatFormat& format = to.format;
  if (format.has_only_powers()) return PowerFromF32(emitter, value, to);
  auto& builder = emitter.builder;
  auto number = [&](uint64_t of) {
    return llvm::ConstantInt::get(WithLanesOf(value, builder.getInt32Ty()), of);
  };
  int cut = kFloatFraction - format.fraction;
  uint64_t rebias = static_cast<uint64_t>(kBias - format.bias()) << kFloatFraction;
  llvm::Value* bits = builder.CreateBitCast(value, WithLanesOf(value, builder.getInt32Ty()));
  llvm::Value* rest = builder.CreateAnd(bits, 0x7FFFFFFF);
  auto magic = static_cast<float>(
      std::ldexp(1.0, kFloatFraction + format.least_exponent() - format.fraction));
  llvm::Value* sum = builder.CreateFAdd(builder.CreateBitCast(rest, value->getType()),
                                        llvm::ConstantFP::get(value->getType(), magic));
  llvm::Value* few = builder.CreateSub(builder.CreateBitCast(sum, bits->getType()),
                                       number(std::bit_cast<uint32_t>(magic)));
  llvm::Value* last =
      builder.CreateAnd(builder.CreateLShr(rest, number(static_cast<uint64_t>(cut))), 1);
  llvm::Value* rounded =
      builder.CreateAdd(builder.CreateAdd(rest, last), number((uint64_t{1} << (cut - 1)) - 1));
  llvm::Value* many = builder.CreateLShr(builder.CreateSub(rounded, number(rebias)),
                                         number(static_cast<uint64_t>(cut)));
  llvm::Value* is_normal =
      builder.CreateICmpUGE(rest, number(rebias + (uint64_t{1} << kFloatFraction)));
  llvm::Value* most = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, builder.CreateSelect(is_normal, many, few),
      number(format.saturates ? format.largest() : format.infinity()));
  llvm::Value* magnitude =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value), number(format.nan()), most);
  llvm::Value* sign = builder.CreateAnd(builder.CreateLShr(bits, SignShift(format)), format.sign());
  llvm::Value* result = builder.CreateOr(sign, magnitude);
  if (!format.has_nan)
    result = builder.CreateSelect(builder.CreateFCmpUNO(value, value), number(0), result);
  return builder.CreateTrunc(result,
                             WithLanesOf(value, RegisterType(emitter.context(), to.scalar)));
}

llvm::Value* WidenNarrow(Emitter& emitter, const FloatFormat& format, llvm::Value* narrow) {
  if (format.has_only_powers()) return WidenPower(emitter, format, narrow);
  auto& builder = emitter.builder;
  llvm::Type* wide = WithLanesOf(narrow, builder.getInt32Ty());
  llvm::Type* f32 = WithLanesOf(narrow, builder.getFloatTy());
  auto number = [&](uint64_t of) { return llvm::ConstantInt::get(wide, of); };
  llvm::Value* bits = builder.CreateZExt(narrow, wide);
  llvm::Value* rest = builder.CreateAnd(bits, format.sign() - 1);
  auto cut = static_cast<uint64_t>(kFloatFraction - format.fraction);
  uint64_t rebias = static_cast<uint64_t>(kBias - format.bias()) << kFloatFraction;
  llvm::Value* normal = builder.CreateAdd(builder.CreateShl(rest, cut), number(rebias));
  double least = std::ldexp(1.0, format.least_exponent() - format.fraction);
  llvm::Value* few =
      builder.CreateFMul(builder.CreateSIToFP(rest, f32), llvm::ConstantFP::get(f32, least));
  llvm::Value* is_few = builder.CreateICmpULT(rest, number(uint64_t{1} << format.fraction));
  llvm::Value* finite = builder.CreateSelect(is_few, builder.CreateBitCast(few, wide), normal);
  llvm::Value* other = number(kNan);
  if (format.has_infinity)
    other = builder.CreateSelect(builder.CreateICmpEQ(rest, number(format.infinity())),
                                 number(kInfinityBits), other);
  llvm::Value* is_finite = builder.CreateICmpULE(rest, number(format.largest()));
  llvm::Value* sign = builder.CreateShl(builder.CreateAnd(bits, format.sign()), SignShift(format));
  return builder.CreateBitCast(
      builder.CreateOr(sign, builder.CreateSelect(is_finite, finite, other)), f32);
}

/// Converts f32 to the bits of a narrower float.
llvm::Value* NarrowFromF32(Emitter& emitter, llvm::Value* value, Scalar to) {
  if (to == Scalar::BF16) return Bf16FromF32(emitter, value);
  if (to != Scalar::F16) return NarrowFromF32(emitter, value, Info(to));
  auto& builder = emitter.builder;
  if (!emitter.code.has_half) return SoftNarrowHalf(builder, value);
  llvm::Value* half = builder.CreateFPTrunc(value, WithLanesOf(value, builder.getHalfTy()));
  return builder.CreateBitCast(half, WithLanesOf(value, builder.getInt16Ty()));
}

/// Converts a 64-bit integer to an f64, rounded to odd. From 2^53 on, the low 11 bits are replaced by one bit
/// that is set if any of them was set, so that the conversion is exact.
llvm::Value* F64FromWide(Emitter& emitter, llvm::Value* value, bool is_signed) {
  auto& builder = emitter.builder;
  auto constant = [&](uint64_t bits) { return llvm::ConstantInt::get(value->getType(), bits); };
  llvm::Value* low = builder.CreateAnd(value, 0x7FF);
  llvm::Value* high = builder.CreateAnd(value, ~uint64_t{0x7FF});
  llvm::Value* any = builder.CreateZExt(builder.CreateICmpNE(low, constant(0)), value->getType());
  llvm::Value* sticky = builder.CreateOr(high, builder.CreateShl(any, 11));
  llvm::Value* magnitude =
      is_signed ? builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, builder.getFalse())
                : value;
  llvm::Value* is_large = builder.CreateICmpUGE(magnitude, constant(uint64_t{1} << 53));
  llvm::Type* f64 = WithLanesOf(value, builder.getDoubleTy());
  value = builder.CreateSelect(is_large, sticky, value);
  return is_signed ? builder.CreateSIToFP(value, f64) : builder.CreateUIToFP(value, f64);
}

/// Returns whether LLVM 19 would round twice: on AArch64, it converts vectors of 64-bit integers to f32
/// through f64.
bool RoundsTwice(const Emitter& emitter, const llvm::Value* value, Scalar from, Scalar to) {
  return Bytes(from) == 8 && to == Scalar::F32 && value->getType()->isVectorTy() &&
         llvm::Triple(emitter.module.getTargetTriple()).isAArch64();
}

llvm::Value* FloatFromInteger(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to) {
  auto& builder = emitter.builder;
  bool is_signed = IsSigned(from);
  auto convert = [&](llvm::Type* scalar) {
    llvm::Type* type = WithLanesOf(value, scalar);
    return is_signed ? builder.CreateSIToFP(value, type) : builder.CreateUIToFP(value, type);
  };
  if (RoundsTwice(emitter, value, from, to))
    return builder.CreateFPTrunc(F64FromWide(emitter, value, is_signed),
                                 WithLanesOf(value, builder.getFloatTy()));
  if (!IsNarrowFloat(to)) return convert(RegisterType(emitter.context(), to));
  if (Bytes(from) < 4) return NarrowFromF32(emitter, convert(builder.getFloatTy()), to);
  llvm::Value* wide =
      Bytes(from) == 8 ? F64FromWide(emitter, value, is_signed) : convert(builder.getDoubleTy());
  return NarrowFromF32(emitter, RoundToOdd(emitter, wide), to);
}

llvm::Value* FloatFromFloat(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to) {
  auto& builder = emitter.builder;
  if (to == Scalar::F64)
    return builder.CreateFPExt(value, WithLanesOf(value, builder.getDoubleTy()));
  if (!IsNarrowFloat(to))
    return builder.CreateFPTrunc(value, WithLanesOf(value, builder.getFloatTy()));
  return NarrowFromF32(emitter, from == Scalar::F64 ? RoundToOdd(emitter, value) : value, to);
}

/// Emits fptosi.sat or fptoui.sat for vectors, which LLVM 19 would split into scalars. Lanes that are NaN or
/// outside the integer's range are converted as 0. Lanes outside the range are then replaced by the nearest
/// end of the range. Both bounds are powers of two, or 0, and thus exact.
llvm::Value* VectorIntegerFromFloat(Emitter& emitter, llvm::Value* value, Scalar to) {
  auto& builder = emitter.builder;
  bool is_signed = IsSigned(to);
  auto bits = static_cast<unsigned>(Bytes(to)) * 8;
  llvm::Type* type = WithLanesOf(value, builder.getIntNTy(bits));
  double above = std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0));
  llvm::Constant* bound = llvm::ConstantFP::get(value->getType(), above);
  llvm::Constant* lower = llvm::ConstantFP::get(value->getType(), is_signed ? -above : 0.0);
  llvm::Value* inside =
      builder.CreateAnd(builder.CreateFCmpOGT(value, lower), builder.CreateFCmpOLT(value, bound));
  llvm::Value* safe =
      builder.CreateSelect(inside, value, llvm::ConstantFP::get(value->getType(), 0.0));
  llvm::Value* result =
      is_signed ? builder.CreateFPToSI(safe, type) : builder.CreateFPToUI(safe, type);
  auto largest = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  result = builder.CreateSelect(builder.CreateFCmpOGE(value, bound),
                                llvm::ConstantInt::get(type, largest), result);
  if (!is_signed) return result;
  auto smallest = llvm::APInt::getSignedMinValue(bits);
  return builder.CreateSelect(builder.CreateFCmpOLE(value, lower),
                              llvm::ConstantInt::get(type, smallest), result);
}

llvm::Value* IntegerFromFloat(Emitter& emitter, llvm::Value* value, Scalar to) {
  if (value->getType()->isVectorTy()) return VectorIntegerFromFloat(emitter, value, to);
  auto id = IsSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return emitter.builder.CreateIntrinsic(
      id, {RegisterType(emitter.context(), to), value->getType()}, {value});
}

/// If the value is every second lane of one vector, returns the number of the first of these lanes.
std::optional<int64_t> EverySecondLane(const ir::Value* value) {
  const ir::Op* op = value->def();
  if (!op || op->kind() != ir::OpKind::Pick || op->operands().size() != 1) return std::nullopt;
  ir::NumberList picked = op->attr<ir::AttrKey::Picked>();
  int64_t lanes = ir::Lanes(op->operand(0)->type());
  if (picked[0] > 1 || lanes != 2 * static_cast<int64_t>(picked.size())) return std::nullopt;
  for (size_t lane = 1; lane < picked.size(); ++lane) {
    if (picked[lane] != picked[lane - 1] + 2) return std::nullopt;
  }
  return picked[0];
}

/// Widens every second lane of a vector of integers to twice its size. In memory order, which is little endian, two
/// lanes are one wide integer. Its lower half is the first of them.
llvm::Value* WidenInPlace(Emitter& emitter, llvm::Value* whole, int64_t first, bool is_signed) {
  auto& builder = emitter.builder;
  auto* type = llvm::cast<llvm::FixedVectorType>(whole->getType());
  unsigned bits = type->getScalarSizeInBits();
  auto* pairs = llvm::FixedVectorType::get(builder.getIntNTy(2 * bits), type->getNumElements() / 2);
  llvm::Value* value = builder.CreateBitCast(whole, pairs);
  if (is_signed)
    return builder.CreateAShr(first == 0 ? builder.CreateShl(value, bits) : value, bits);
  if (first == 1) return builder.CreateLShr(value, bits);
  return builder.CreateAnd(value, llvm::ConstantInt::get(pairs, (uint64_t{1} << bits) - 1));
}

void EmitCastOp(Emitter& emitter, ir::Op* op) {
  const ir::Value* value = op->operand(0);
  Scalar from = value->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  bool doubles = IsInteger(from) && IsInteger(to) && Bytes(to) == 2 * Bytes(from);
  if (std::optional<int64_t> first = doubles ? EverySecondLane(value) : std::nullopt) {
    llvm::Value* whole = emitter.Get(value->def()->operand(0));
    return emitter.Set(op->result(), WidenInPlace(emitter, whole, *first, IsSigned(from)));
  }
  emitter.Set(op->result(), EmitCast(emitter, emitter.Get(value), value->type()->scalar,
                                     op->result()->type()->scalar));
}

}  // namespace

llvm::Value* WidenNarrowFloat(Emitter& emitter, Scalar from, llvm::Value* bits) {
  auto& builder = emitter.builder;
  if (from == Scalar::BF16) {
    llvm::Value* wide = builder.CreateZExt(bits, WithLanesOf(bits, builder.getInt32Ty()));
    return builder.CreateBitCast(builder.CreateShl(wide, 16),
                                 WithLanesOf(bits, builder.getFloatTy()));
  }
  if (from != Scalar::F16) return WidenNarrow(emitter, Info(from).format, bits);
  if (!emitter.code.has_half) return SoftWidenHalf(builder, bits);
  llvm::Value* half = builder.CreateBitCast(bits, WithLanesOf(bits, builder.getHalfTy()));
  return builder.CreateFPExt(half, WithLanesOf(bits, builder.getFloatTy()));
}

llvm::Value* EmitCast(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to) {
  auto& builder = emitter.builder;
  if (from == to) return value;
  if (IsNarrowFloat(from)) {
    value = WidenNarrowFloat(emitter, from, value);
    from = Scalar::F32;
    if (from == to) return value;
  }
  if (to == Scalar::Bool) {
    return IsFloat(from)
               ? builder.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0.0))
               : builder.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  if (IsFloat(to)) {
    return IsFloat(from) ? FloatFromFloat(emitter, value, from, to)
                         : FloatFromInteger(emitter, value, from, to);
  }
  if (IsFloat(from)) return IntegerFromFloat(emitter, value, to);
  return builder.CreateIntCast(value, WithLanesOf(value, RegisterType(emitter.context(), to)),
                               IsSigned(from));
}

KDL_EMIT(Cast, EmitCastOp)

}  // namespace kdl::codegen
