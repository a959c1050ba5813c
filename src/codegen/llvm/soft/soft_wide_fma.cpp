#include <llvm/IR/Module.h>

#include <string>

#include "codegen/llvm/soft/soft_float.h"

// Computes a * b + c for f64 with a single rounding, using integers, for all operands. The product has 106 bits,
// so a 128-bit sum contains all bits that matter. One sticky bit represents all lower bits.

namespace kdl::codegen {

namespace {

using Builder = llvm::IRBuilder<>;
using llvm::Value;

constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr uint64_t kInfiniteDouble = uint64_t{0x7FF} << 52;
constexpr uint64_t kFractionOfDouble = (uint64_t{1} << 52) - 1;

/// A number that is neither 0 nor infinite nor NaN, as mantissa * 2^exponent with a mantissa of 53 bits.
struct Parts {
  Value* sign;  ///< the sign, in the top bit
  Value* mantissa;
  Value* exponent;
};

Parts Taken(Builder& b, Value* x) {
  Value* bits = b.CreateBitCast(x, b.getInt64Ty());
  Value* fraction = b.CreateAnd(bits, kFractionOfDouble);
  Value* biased = b.CreateAnd(b.CreateLShr(bits, 52), 0x7FF);
  Value* is_subnormal = b.CreateICmpEQ(biased, b.getInt64(0));
  Value* leading = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, fraction, b.getFalse());
  Value* shift = b.CreateSub(leading, b.getInt64(11));
  Value* mantissa = b.CreateSelect(is_subnormal, b.CreateShl(fraction, shift),
                                   b.CreateOr(fraction, kFractionOfDouble + 1));
  Value* exponent =
      b.CreateSelect(is_subnormal, b.CreateSub(b.getInt64(static_cast<uint64_t>(-1074)), shift),
                     b.CreateSub(biased, b.getInt64(1075)));
  return {b.CreateAnd(bits, kSign), mantissa, exponent};
}

/// The value bits * 2^exponent, with 128 bits and a separate sign.
struct Wide {
  Value* sign;
  Value* bits;
  Value* exponent;
};

/// Shifts right logically. Sets the lowest bit of the result if any dropped bit was set. `distance` must be
/// less than the width.
Value* ShiftedDown(Builder& b, Value* bits, Value* distance) {
  Value* by = b.CreateZExtOrTrunc(distance, bits->getType());
  Value* shifted = b.CreateLShr(bits, by);
  Value* is_less = b.CreateICmpNE(b.CreateShl(shifted, by), bits);
  return b.CreateOr(shifted, b.CreateZExt(is_less, bits->getType()));
}

Wide Chosen(Builder& b, Value* first, const Wide& x, const Wide& y) {
  return {b.CreateSelect(first, x.sign, y.sign), b.CreateSelect(first, x.bits, y.bits),
          b.CreateSelect(first, x.exponent, y.exponent)};
}

/// Adds two numbers whose highest bit is bit 124 or 125. If aligning the smaller number drops some of its
/// bits, the result still has more than 64 bits above the dropped bits.
Wide Sum(Builder& b, const Wide& x, const Wide& y) {
  Value* apart = b.CreateSub(x.exponent, y.exponent);
  Value* is_first = b.CreateICmpSGE(apart, b.getInt64(0));
  Wide high = Chosen(b, is_first, x, y);
  Wide low = Chosen(b, is_first, y, x);
  Value* distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, apart, b.getFalse());
  distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, b.getInt64(127));
  Value* lowered = ShiftedDown(b, low.bits, distance);
  Value* difference = b.CreateSub(high.bits, lowered);
  Value* is_negative =
      b.CreateICmpSLT(difference, llvm::ConstantInt::get(difference->getType(), 0));
  Value* is_alike = b.CreateICmpEQ(x.sign, y.sign);
  Value* magnitude = b.CreateSelect(is_negative, b.CreateNeg(difference), difference);
  return {b.CreateSelect(b.CreateAnd(is_negative, b.CreateNot(is_alike)), low.sign, high.sign),
          b.CreateSelect(is_alike, b.CreateAdd(high.bits, lowered), magnitude), high.exponent};
}

/// Returns the bits of the nearest f64, rounding ties to even.
Value* Rounded(Builder& b, const Wide& exact) {
  llvm::Type* wide = exact.bits->getType();
  Value* leading = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, exact.bits, b.getFalse());
  Value* up = b.CreateShl(exact.bits, b.CreateAnd(leading, 127));
  Value* below = b.CreateICmpNE(b.CreateTrunc(up, b.getInt64Ty()), b.getInt64(0));
  Value* top = b.CreateOr(b.CreateTrunc(b.CreateLShr(up, 64), b.getInt64Ty()),
                          b.CreateZExt(below, b.getInt64Ty()));
  Value* power =
      b.CreateSub(b.CreateAdd(exact.exponent, b.getInt64(127)),
                  b.CreateTrunc(leading, b.getInt64Ty()));  // exponent of the leading bit
  Value* beneath = b.CreateSub(b.getInt64(static_cast<uint64_t>(-1022)), power);
  beneath = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, beneath, b.getInt64(0));
  beneath = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, beneath, b.getInt64(63));
  top = ShiftedDown(b, top, beneath);
  Value* kept = b.CreateLShr(top, 11);
  Value* rest = b.CreateAdd(b.CreateAnd(top, 0x7FF), b.CreateAnd(kept, 1));
  Value* carry = b.CreateZExt(b.CreateICmpUGT(rest, b.getInt64(0x400)), b.getInt64Ty());
  // The leading bit of `kept` adds 1 to the exponent field, and so does a carry out of the fraction.
  Value* biased = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax,
                                          b.CreateAdd(power, b.getInt64(1022)), b.getInt64(0));
  Value* bits = b.CreateAdd(b.CreateAdd(b.CreateShl(biased, 52), kept), carry);
  Value* is_large = b.CreateICmpSGT(power, b.getInt64(1023));
  bits = b.CreateOr(b.CreateSelect(is_large, b.getInt64(kInfiniteDouble), bits), exact.sign);
  Value* is_zero = b.CreateICmpEQ(exact.bits, llvm::ConstantInt::get(wide, 0));
  return b.CreateSelect(is_zero, b.getInt64(0), bits);
}

Value* IsInfiniteOrNaN(Builder& b, Value* x) {
  return b.CreateICmpEQ(b.CreateAnd(b.CreateBitCast(x, b.getInt64Ty()), kInfiniteDouble),
                        b.getInt64(kInfiniteDouble));
}

Value* FmaOfF64(Builder& b, Value* x, Value* y, Value* z) {
  Parts px = Taken(b, x);
  Parts py = Taken(b, y);
  Parts pz = Taken(b, z);
  llvm::Type* wide = b.getInt128Ty();
  Value* multiplied = b.CreateMul(b.CreateZExt(px.mantissa, wide), b.CreateZExt(py.mantissa, wide));
  Wide product = {b.CreateXor(px.sign, py.sign), b.CreateShl(multiplied, 20),
                  b.CreateSub(b.CreateAdd(px.exponent, py.exponent), b.getInt64(20))};
  Wide added = {pz.sign, b.CreateShl(b.CreateZExt(pz.mantissa, wide), 72),
                b.CreateSub(pz.exponent, b.getInt64(72))};
  Value* result = b.CreateBitCast(Rounded(b, Sum(b, product, added)), x->getType());
  // If an operand is zero, infinite or NaN, separate operations round only once in total. But a zero or
  // infinite z must not be added to a finite product: the product may have overflowed, or underflowed to a
  // zero of the other sign.
  Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
  Value* rounded = b.CreateFMul(x, y);
  result = b.CreateSelect(b.CreateFCmpOEQ(z, zero), rounded, result);
  result = b.CreateSelect(IsInfiniteOrNaN(b, z), z, result);
  Value* is_zero = b.CreateOr(b.CreateFCmpOEQ(x, zero), b.CreateFCmpOEQ(y, zero));
  Value* is_special = b.CreateOr(is_zero, IsInfiniteOrNaN(b, x));
  is_special = b.CreateOr(is_special, IsInfiniteOrNaN(b, y));
  return b.CreateSelect(is_special, b.CreateFAdd(rounded, z), result);
}

/// Calls the scalar function for one lane after another.
Value* FmaOfLanes(Builder& b, llvm::Function* of_one, const llvm::Function& lanes) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(lanes.getReturnType());
  if (!type) return b.CreateCall(of_one, {lanes.getArg(0), lanes.getArg(1), lanes.getArg(2)});
  Value* result = llvm::PoisonValue::get(type);
  for (uint64_t lane = 0; lane < type->getNumElements(); ++lane) {
    auto argument = [&](unsigned i) { return b.CreateExtractElement(lanes.getArg(i), lane); };
    result = b.CreateInsertElement(
        result, b.CreateCall(of_one, {argument(0), argument(1), argument(2)}), lane);
  }
  return result;
}

/// Creates a private function with three operands, and sets `b` to its start.
llvm::Function* NewFunction(Builder& b, llvm::Module& module, llvm::Type* type,
                            const std::string& name) {
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type, type}, false),
                                          llvm::GlobalValue::PrivateLinkage, name, module);
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  return function;
}

llvm::Function* WideFmaOfOne(llvm::Module& module, const std::string& name) {
  if (llvm::Function* made = module.getFunction(name)) return made;
  Builder b(module.getContext());
  llvm::Function* function = NewFunction(b, module, b.getDoubleTy(), name);
  b.CreateRet(FmaOfF64(b, function->getArg(0), function->getArg(1), function->getArg(2)));
  return function;
}

}  // namespace

llvm::Function* WideFma(llvm::Module& module, llvm::Type* type, const std::string& name) {
  auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(type);
  std::string own_name = name + "." + std::to_string(lanes ? lanes->getNumElements() : 1);
  if (llvm::Function* made = module.getFunction(own_name)) return made;
  llvm::Function* of_one = WideFmaOfOne(module, name + ".lane");
  Builder b(module.getContext());
  llvm::Function* function = NewFunction(b, module, type, own_name);
  // Its callers need their registers, and rarely call it.
  function->setCallingConv(llvm::CallingConv::PreserveAll);
  function->addFnAttr(llvm::Attribute::Cold);
  b.CreateRet(FmaOfLanes(b, of_one, *function));
  return function;
}

}  // namespace kdl::codegen
