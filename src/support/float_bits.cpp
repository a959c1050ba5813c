#include "support/float_bits.h"

#include <bit>
#include <cmath>

#include "support/check.h"

namespace kdl {

double FloatValue(Scalar scalar, uint64_t bits) {
  KDL_CHECK(IsFloat(scalar), "{} is not a float", Spelling(scalar));
  if (scalar == Scalar::F32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (scalar == Scalar::F64) return std::bit_cast<double>(bits);
  return Info(scalar).format.ValueOf(bits);
}

uint64_t FloatBits(Scalar scalar, double value) {
  KDL_CHECK(IsFloat(scalar), "{} is not a float", Spelling(scalar));
  if (scalar == Scalar::F32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (scalar == Scalar::F64) return std::bit_cast<uint64_t>(value);
  return Info(scalar).format.BitsOf(value);
}

double LargestValue(Scalar scalar) { return FloatValue(scalar, Info(scalar).format.largest()); }

double LeastValue(Scalar scalar) {
  return Info(scalar).format.has_only_powers() ? FloatValue(scalar, 0) : -LargestValue(scalar);
}

bool IsBeyond(Scalar scalar, double value) {
  if (scalar == Scalar::F64) return std::isinf(value);
  if (Info(scalar).format.has_only_powers())
    return value <= 0 || value > 1.5 * LargestValue(scalar);
  double step = LargestValue(scalar) - FloatValue(scalar, Info(scalar).format.largest() - 1);
  return std::fabs(value) >= LargestValue(scalar) + step / 2;
}

uint64_t InfinityBits(Scalar scalar, bool negative) {
  const FloatFormat& format = Info(scalar).format;
  if (format.has_only_powers()) return negative ? format.nan() : format.largest();
  return (format.has_infinity ? format.infinity() : format.largest()) |
         (negative ? format.sign() : 0);
}

uint64_t CanonicalNan(Scalar scalar) {
  KDL_CHECK(IsFloat(scalar), "{} is not a float", Spelling(scalar));
  return Info(scalar).format.nan();
}

double F64FromU64Sticky(uint64_t value) {
  if (value >> 53) value = ((value >> 11) | ((value & 0x7FF) != 0)) << 11;
  return static_cast<double>(value);
}

double F64FromI64Sticky(int64_t value) {
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  double result = F64FromU64Sticky(magnitude);
  return value < 0 ? -result : result;
}

}  // namespace kdl
