#include <llvm/IR/Intrinsics.h>

#include <cstdint>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/op.h"
#include "support/check.h"
#include "support/scalar.h"

// Conversions, each rounded once. The narrow floats are reached through f32 rounded to odd:
// truncated, with the last bit set where anything was cut off. Rounding that to 11 or 8 bits gives
// what rounding the original would.

namespace kdl::codegen {

namespace {

/// f64 to f32, rounded to odd. NaN and infinity stay.
llvm::Value* RoundToOdd(Emitter& emitter, llvm::Value* value) {
  auto& builder = emitter.builder;
  llvm::Value* nearest = builder.CreateFPTrunc(value, builder.getFloatTy());
  llvm::Value* back = builder.CreateFPExt(nearest, builder.getDoubleTy());
  llvm::Value* bits = builder.CreateBitCast(nearest, builder.getInt32Ty());
  llvm::Value* too_large =
      builder.CreateFCmpOGT(builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                            builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* truncated = builder.CreateSub(bits, builder.CreateZExt(too_large, bits->getType()));
  llvm::Value* odd = builder.CreateOr(truncated, builder.getInt32(1));
  llvm::Value* inexact = builder.CreateFCmpONE(back, value);
  return builder.CreateBitCast(builder.CreateSelect(inexact, odd, bits), builder.getFloatTy());
}

/// f32 to the bits of a bf16, to nearest even; a NaN stays one.
llvm::Value* Bf16FromF32(Emitter& emitter, llvm::Value* value) {
  auto& builder = emitter.builder;
  llvm::Value* bits = builder.CreateBitCast(value, builder.getInt32Ty());
  llvm::Value* last = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value* rounded = builder.CreateAdd(bits, builder.CreateAdd(last, builder.getInt32(0x7FFF)));
  llvm::Value* quiet = builder.CreateOr(bits, builder.getInt32(0x00400000));
  llvm::Value* result = builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
  return builder.CreateTrunc(builder.CreateLShr(result, 16), builder.getInt16Ty());
}

/// f32 to the bits of an f16 or bf16.
llvm::Value* NarrowFromF32(Emitter& emitter, llvm::Value* value, Scalar to) {
  if (to == Scalar::BF16) return Bf16FromF32(emitter, value);
  auto& builder = emitter.builder;
  return builder.CreateBitCast(builder.CreateFPTrunc(value, builder.getHalfTy()),
                               builder.getInt16Ty());
}

/// A 64-bit integer as an f64 that is rounded to odd: above 2^53 the low 11 bits become one that
/// says whether any was set. They are gone from the value then, so the conversion is exact.
llvm::Value* F64FromWide(Emitter& emitter, llvm::Value* value, bool is_signed) {
  auto& builder = emitter.builder;
  llvm::Value* low = builder.CreateAnd(value, 0x7FF);
  llvm::Value* high = builder.CreateAnd(value, ~uint64_t{0x7FF});
  llvm::Value* any =
      builder.CreateZExt(builder.CreateICmpNE(low, builder.getInt64(0)), value->getType());
  llvm::Value* sticky = builder.CreateOr(high, builder.CreateShl(any, 11));
  llvm::Value* magnitude =
      is_signed ? builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, builder.getFalse())
                : value;
  llvm::Value* is_large = builder.CreateICmpUGE(magnitude, builder.getInt64(uint64_t{1} << 53));
  value = builder.CreateSelect(is_large, sticky, value);
  return is_signed ? builder.CreateSIToFP(value, builder.getDoubleTy())
                   : builder.CreateUIToFP(value, builder.getDoubleTy());
}

llvm::Value* FloatFromInteger(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to) {
  auto& builder = emitter.builder;
  bool is_signed = IsSigned(from);
  auto convert = [&](llvm::Type* type) {
    return is_signed ? builder.CreateSIToFP(value, type) : builder.CreateUIToFP(value, type);
  };
  if (!IsNarrowFloat(to)) return convert(RegisterType(emitter.context(), to));
  if (Bytes(from) < 4) return NarrowFromF32(emitter, convert(builder.getFloatTy()), to);
  llvm::Value* wide =
      Bytes(from) == 8 ? F64FromWide(emitter, value, is_signed) : convert(builder.getDoubleTy());
  return NarrowFromF32(emitter, RoundToOdd(emitter, wide), to);
}

llvm::Value* FloatFromFloat(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to) {
  auto& builder = emitter.builder;
  if (to == Scalar::F64) return builder.CreateFPExt(value, builder.getDoubleTy());
  if (!IsNarrowFloat(to)) return builder.CreateFPTrunc(value, builder.getFloatTy());
  return NarrowFromF32(emitter, from == Scalar::F64 ? RoundToOdd(emitter, value) : value, to);
}

llvm::Value* IntegerFromFloat(Emitter& emitter, llvm::Value* value, Scalar to) {
  auto id = IsSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return emitter.builder.CreateIntrinsic(
      id, {RegisterType(emitter.context(), to), value->getType()}, {value});
}

void EmitCastOp(Emitter& emitter, ir::Op* op) {
  const ir::Value* value = op->operand(0);
  emitter.Set(op->result(), EmitCast(emitter, emitter.Get(value), value->type()->scalar,
                                     op->result()->type()->scalar));
}

}  // namespace

llvm::Value* WidenNarrowFloat(Emitter& emitter, Scalar from, llvm::Value* bits) {
  auto& builder = emitter.builder;
  if (from == Scalar::F16) {
    return builder.CreateFPExt(builder.CreateBitCast(bits, builder.getHalfTy()),
                               builder.getFloatTy());
  }
  KDL_CHECK(from == Scalar::BF16, "{} is not narrow", Spelling(from));
  llvm::Value* wide = builder.CreateShl(builder.CreateZExt(bits, builder.getInt32Ty()), 16);
  return builder.CreateBitCast(wide, builder.getFloatTy());
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
  return builder.CreateIntCast(value, RegisterType(emitter.context(), to), IsSigned(from));
}

std::vector<EmitRow> CastRows() { return {{ir::OpKind::Cast, EmitCastOp}}; }

}  // namespace kdl::codegen
