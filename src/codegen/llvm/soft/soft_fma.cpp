#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/llvm/soft/soft_float.h"
#include "support/check.h"

// Computes a * b + c with a single rounding, using floating-point operations that each round.
//
// f32: the product of two f32 is exact in f64. The sum with c is not exact, but Knuth's two-sum algorithm
// computes its error. With this error the sum is rounded to odd, so that the final rounding to f32 is
// correct.
//
// f64: Dekker's algorithm computes the error of the product, two-sum the error of its sum with c. The sum
// of both errors is rounded to odd, so that adding it to the rounded sum rounds correctly. If a factor is so
// large or small that the error of the product could overflow or underflow, the code calls a function that
// computes with integers (soft_wide_fma.cpp).

namespace kdl::codegen {

namespace {

using Builder = llvm::IRBuilder<>;
using llvm::Value;

/// Processors without fma have vectors of 128 bits. Longer vectors are computed in parts of this size, because
/// the intermediate results of a part need most of the registers.
constexpr unsigned kVectorBits = 128;

/// Bounds of the factors for which all intermediate results are exact: products are from 2^-900 to 2^900, so
/// their errors are at least 2^-1006, and rounded sums with finite numbers are finite.
constexpr double kSmallFactor = 0x1p-450;
constexpr double kLargeFactor = 0x1p450;

Value* Constant(Value* like, uint64_t bits) {
  return llvm::ConstantInt::get(like->getType(), bits);
}

Value* BitsOf(Builder& b, Value* x) {
  return b.CreateBitCast(x, x->getType()->getWithNewType(b.getInt64Ty()));
}

/// The exact value of x + y: the rounded sum plus its error `lacking`.
struct TwoSum {
  Value* sum;
  Value* lacking;
};

TwoSum AddExactly(Builder& b, Value* x, Value* y) {
  Value* sum = b.CreateFAdd(x, y);
  Value* of_y = b.CreateFSub(sum, x);
  Value* of_x = b.CreateFSub(sum, of_y);
  return {sum, b.CreateFAdd(b.CreateFSub(x, of_x), b.CreateFSub(y, of_y))};
}

/// Rounds the exact sum to odd: if the sum is inexact and its last bit is even, returns its neighbor in the
/// direction of the error. `differs` compares the error with 0. With an ordered comparison, infinite sums do not
/// change, because their error is NaN.
Value* RoundedToOdd(Builder& b, const TwoSum& exact, llvm::CmpInst::Predicate differs) {
  Value* bits = BitsOf(b, exact.sum);
  Value* is_off =
      b.CreateFCmp(differs, exact.lacking, llvm::ConstantFP::get(exact.sum->getType(), 0.0));
  Value* off = b.CreateSExt(is_off, bits->getType());
  Value* opposite = b.CreateAShr(b.CreateXor(bits, BitsOf(b, exact.lacking)), Constant(bits, 63));
  // Truncates towards zero, and sets the last bit.
  Value* truncated = b.CreateAdd(bits, b.CreateAnd(off, opposite));
  return b.CreateBitCast(b.CreateOr(truncated, b.CreateLShr(off, Constant(bits, 63))),
                         exact.sum->getType());
}

Value* FmaOfF32(Builder& b, Value* x, Value* y, Value* z) {
  llvm::Type* f64 = x->getType()->getWithNewType(b.getDoubleTy());
  Value* product = b.CreateFMul(b.CreateFPExt(x, f64), b.CreateFPExt(y, f64));
  TwoSum sum = AddExactly(b, product, b.CreateFPExt(z, f64));
  return b.CreateFPTrunc(RoundedToOdd(b, sum, llvm::CmpInst::FCMP_ONE), x->getType());
}

/// The exact value of a factor as a sum of two numbers with at most 26 bits, whose products are exact.
struct Halves {
  Value* high;
  Value* low;
};

Halves Split(Builder& b, Value* x) {
  Value* bits = BitsOf(b, x);
  Value* rounded = b.CreateAdd(bits, Constant(bits, uint64_t{1} << 26));
  Value* high =
      b.CreateBitCast(b.CreateAnd(rounded, Constant(bits, ~uint64_t{0} << 27)), x->getType());
  return {high, b.CreateFSub(x, high)};
}

/// The operands of an fma of f64: vectors of 128 bits, and the halves of the factors.
struct Factors {
  Value* x;
  Value* y;
  Value* z;
  Halves hx;
  Halves hy;
};

/// Computes x * y + z if both factors are moderate (see `IsModerate`). The errors are negated, so that they are
/// +0 if everything is exact: -0 minus +0 is -0.
Value* FmaOfModerateF64(Builder& b, const Factors& f) {
  Value* product = b.CreateFMul(f.x, f.y);
  Value* excess = b.CreateFSub(product, b.CreateFMul(f.hx.high, f.hy.high));
  excess = b.CreateFSub(excess, b.CreateFMul(f.hx.high, f.hy.low));
  excess = b.CreateFSub(excess, b.CreateFMul(f.hx.low, f.hy.high));
  excess = b.CreateFSub(excess, b.CreateFMul(f.hx.low, f.hy.low));
  Value* sum = b.CreateFAdd(product, f.z);
  Value* of_z = b.CreateFSub(sum, product);
  Value* of_product = b.CreateFSub(sum, of_z);
  Value* excess_of_sum = b.CreateFAdd(b.CreateFSub(of_product, product), b.CreateFSub(of_z, f.z));
  TwoSum both = AddExactly(b, excess_of_sum, excess);
  // An ordered comparison takes three instructions on x86, and is not needed: if an operand is infinite or NaN, the
  // errors are NaN, and the rounded sum is the result.
  Value* odd = RoundedToOdd(b, both, llvm::CmpInst::FCMP_UNE);
  Value* is_finite = b.CreateFCmpORD(both.sum, both.sum);
  return b.CreateFSub(sum,
                      b.CreateSelect(is_finite, odd, llvm::Constant::getNullValue(odd->getType())));
}

/// Returns for each lane whether `x` is zero or its magnitude is moderate.
Value* IsModerate(Builder& b, Value* x) {
  auto constant = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* is_large_enough = b.CreateFCmpOGE(magnitude, constant(kSmallFactor));
  Value* is_small_enough = b.CreateFCmpOLT(magnitude, constant(kLargeFactor));
  Value* is_within = b.CreateAnd(is_large_enough, is_small_enough);
  return b.CreateOr(is_within, b.CreateFCmpOEQ(x, constant(0)));
}

/// Returns the lanes of `x` from `first` on as a vector of 128 bits. Lanes that `x` lacks are zero.
Value* PartWithLanes(Builder& b, Value* x, unsigned first, unsigned width) {
  llvm::Type* scalar = x->getType()->getScalarType();
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!type) {
    auto* zero = llvm::Constant::getNullValue(llvm::FixedVectorType::get(scalar, width));
    return b.CreateInsertElement(zero, x, uint64_t{0});
  }
  unsigned count = type->getNumElements();
  if (count == width) return x;
  std::vector<int> lanes;
  for (unsigned lane = first; lane < first + width; ++lane)
    lanes.push_back(static_cast<int>(std::min(lane, count)));
  return b.CreateShuffleVector(x, llvm::Constant::getNullValue(type), lanes);
}

/// Returns all lanes of an operand as vectors of 128 bits.
std::vector<Value*> PartsWithLanes(Builder& b, Value* x) {
  unsigned width = kVectorBits / x->getType()->getScalarSizeInBits();
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  std::vector<Value*> parts;
  for (unsigned first = 0; first < (type ? type->getNumElements() : 1); first += width)
    parts.push_back(PartWithLanes(b, x, first, width));
  return parts;
}

/// Returns the lanes of all parts as a value of the given type.
Value* JoinedParts(Builder& b, llvm::ArrayRef<Value*> parts, llvm::Type* type) {
  auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!lanes) return b.CreateExtractElement(parts.front(), uint64_t{0});
  Value* all = llvm::concatenateVectors(b, parts);
  if (all->getType() == type) return all;
  std::vector<int> first(lanes->getNumElements());
  std::iota(first.begin(), first.end(), 0);
  return b.CreateShuffleVector(all, first);
}

Value* EmitFmaOfF32(Builder& b, Value* x, Value* y, Value* z) {
  std::vector<Value*> xs = PartsWithLanes(b, x);
  std::vector<Value*> ys = PartsWithLanes(b, y);
  std::vector<Value*> zs = PartsWithLanes(b, z);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = FmaOfF32(b, xs[i], ys[i], zs[i]);
  return JoinedParts(b, xs, x->getType());
}

Value* EmitFmaOfF64(Builder& b, Value* x, Value* y, Value* z, const std::string& name) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto new_block = [&](const char* text) {
    return llvm::BasicBlock::Create(b.getContext(), text, function);
  };
  llvm::BasicBlock* moderate = new_block("fma");
  llvm::BasicBlock* other = new_block("fma.wide");
  llvm::BasicBlock* join = new_block("fma.end");
  // Halves are computed before the branch, so that several fmas with the same factor share them.
  std::vector<Value*> xs = PartsWithLanes(b, x);
  std::vector<Value*> ys = PartsWithLanes(b, y);
  std::vector<Value*> zs = PartsWithLanes(b, z);
  std::vector<Factors> parts;
  for (size_t i = 0; i < xs.size(); ++i) {
    Halves hx = Split(b, xs[i]);
    Halves hy = Split(b, ys[i]);
    parts.push_back({xs[i], ys[i], zs[i], hx, hy});
  }
  Value* is_moderate = IsModerate(b, x);
  is_moderate = b.CreateAnd(is_moderate, IsModerate(b, y));
  if (is_moderate->getType()->isVectorTy()) is_moderate = b.CreateAndReduce(is_moderate);
  b.CreateCondBr(is_moderate, moderate, other,
                 llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(moderate);
  std::vector<Value*> results;
  for (const Factors& part : parts) results.push_back(FmaOfModerateF64(b, part));
  Value* fast = JoinedParts(b, results, x->getType());
  b.CreateBr(join);
  b.SetInsertPoint(other);
  llvm::Function* wide = WideFma(*function->getParent(), x->getType(), name);
  llvm::CallInst* slow = b.CreateCall(wide, {x, y, z});
  slow->setCallingConv(wide->getCallingConv());
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(fast, moderate);
  result->addIncoming(slow, other);
  return result;
}

}  // namespace

Value* EmitSoftFma(Builder& b, Value* x, Value* y, Value* z, const std::string& level) {
  llvm::Type* scalar = x->getType()->getScalarType();
  KDL_CHECK(scalar->isFloatTy() || scalar->isDoubleTy(), "only fma of f32 and f64 is emulated");
  return scalar->isFloatTy() ? EmitFmaOfF32(b, x, y, z) : EmitFmaOfF64(b, x, y, z, "fma." + level);
}

}  // namespace kdl::codegen
