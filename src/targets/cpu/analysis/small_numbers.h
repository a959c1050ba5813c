#pragma once

#include <bit>
#include <cstdint>

#include "ir/builder.h"

namespace kdl::cpu {

// If all factors and sums of an f32 reduction in sequential order are 0 or far from the subnormal range, no
// sum is subnormal. Factors with 8 significant bits and a magnitude of at least 2^-56 have products that are
// multiples of 2^-126, the smallest normal number. All f32 numbers with a magnitude of at least 2^-103 are
// such multiples, too, and so is every sum, rounded or not. So an instruction that flushes has nothing to
// flush.
inline constexpr float kLeastFactor = 0x1p-56F;
inline constexpr float kLeastSum = 0x1p-103F;

/// Emits -1 if the f32 is not 0 but its magnitude is less than `limit`, and 0 otherwise. If it is a tile, so is
/// the result. The minimum of such numbers says whether one of the f32s is small.
inline ir::Value* MinusOneIfSmall(ir::Builder& b, ir::Value* number, float limit) {
  ir::Value* zero = b.Bits(Scalar::F32, 0);
  ir::Value* magnitude = b.Unary(ir::OpKind::Abs, number);
  ir::Value* is_less = b.Lt(magnitude, b.Bits(Scalar::F32, std::bit_cast<uint32_t>(limit)));
  ir::Value* is_some = b.Ne(number, zero);
  ir::Value* is_small = b.And(is_less, is_some);
  return b.Select(is_small, b.Int(Scalar::I32, -1), b.Int(Scalar::I32, 0));
}

/// Emits the condition that nothing was small.
inline ir::Value* IsNoneSmall(ir::Builder& b, ir::Value* least) {
  return b.Eq(least, b.Int(Scalar::I32, 0));
}

}  // namespace kdl::cpu
