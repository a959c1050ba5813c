#include "codegen/llvm/soft/soft_float.h"

// f16 has the same layout as float, but 5 instead of 8 exponent bits and 10 instead of 23 fraction bits.

namespace kdl::codegen {

namespace {

using llvm::Value;

// The number of fraction bits that float has in addition to those of f16.
constexpr int kFractionBits = 13;

struct Lanes {
  llvm::IRBuilder<>& b;
  llvm::Type* i32;
  llvm::Type* f32;

  Value* Int(uint32_t value) const { return llvm::ConstantInt::get(i32, value); }
  Value* AsFloat(Value* bits) const { return b.CreateBitCast(bits, f32); }
  Value* AsBits(Value* value) const { return b.CreateBitCast(value, i32); }
  Value* Float(double value) const { return llvm::ConstantFP::get(f32, value); }
};

Lanes MakeLanes(llvm::IRBuilder<>& b, const Value* like) {
  return {b, like->getType()->getWithNewType(b.getInt32Ty()),
          like->getType()->getWithNewType(b.getFloatTy())};
}

}  // namespace

llvm::Value* SoftWidenHalf(llvm::IRBuilder<>& b, llvm::Value* bits) {
  Lanes of = MakeLanes(b, bits);
  Value* wide = b.CreateZExt(bits, of.i32);
  Value* magnitude = b.CreateShl(b.CreateAnd(wide, 0x7FFF), kFractionBits);
  // The exponent biases differ by 112. Multiplying by 2^112 also turns subnormal numbers into normal numbers.
  Value* scaled = of.AsBits(b.CreateFMul(of.AsFloat(magnitude), of.Float(0x1p112)));
  Value* is_special = b.CreateICmpUGE(magnitude, of.Int(0x7C00U << kFractionBits));
  Value* special = b.CreateOr(magnitude, 0x7F800000);
  Value* sign = b.CreateShl(b.CreateAnd(wide, 0x8000), 16);
  return of.AsFloat(b.CreateOr(b.CreateSelect(is_special, special, scaled), sign));
}

llvm::Value* SoftNarrowHalf(llvm::IRBuilder<>& b, llvm::Value* value) {
  Lanes of = MakeLanes(b, value);
  Value* bits = of.AsBits(value);
  Value* magnitude = b.CreateAnd(bits, 0x7FFFFFFF);
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, kFractionBits), 1);
  Value* rounded =
      b.CreateAdd(b.CreateAdd(magnitude, of.Int((1U << (kFractionBits - 1)) - 1)), odd);
  Value* normal = b.CreateSub(b.CreateLShr(rounded, kFractionBits), of.Int(112 << 10));
  // The last bit of 0.5 has the value of a subnormal f16's last bit, so the addition rounds to a multiple of
  // it.
  Value* sum = of.AsBits(b.CreateFAdd(of.AsFloat(magnitude), of.Float(0.5)));
  Value* subnormal = b.CreateSub(sum, of.AsBits(of.Float(0.5)));
  Value* result =
      b.CreateSelect(b.CreateICmpULT(magnitude, of.AsBits(of.Float(0x1p-14))), subnormal, normal);
  // 65520 is halfway between the largest f16 and the next power of two, so it and larger numbers become
  // infinity.
  Value* is_large = b.CreateICmpUGE(magnitude, of.AsBits(of.Float(65520.0)));
  result = b.CreateSelect(is_large, of.Int(0x7C00), result);
  result = b.CreateSelect(b.CreateICmpUGT(magnitude, of.Int(0x7F800000)), of.Int(0x7E00), result);
  Value* sign = b.CreateAnd(b.CreateLShr(bits, 16), 0x8000);
  return b.CreateTrunc(b.CreateOr(result, sign), value->getType()->getWithNewType(b.getInt16Ty()));
}

}  // namespace kdl::codegen
