#include "support/float16.h"

#include <bit>
#include <cmath>

namespace kdl {

namespace {

/// Rounds to a format of `precision` significant bits (the hidden one counts), smallest normal exponent `min_exponent`
/// and largest exponent `max_exponent`; the result is exact in f64.
double RoundTo(double value, int precision, int min_exponent, int max_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = std::ilogb(value);
  int quantum = (exponent < min_exponent ? min_exponent : exponent) - (precision - 1);
  double rounded = std::scalbn(std::nearbyint(std::scalbn(value, -quantum)), quantum);
  return std::fabs(rounded) >= std::scalbn(1.0, max_exponent + 1) ? std::copysign(INFINITY, value)
                                                                  : rounded;
}

}  // namespace

uint16_t F16FromF64(double value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7E00;
  double rounded = std::fabs(RoundTo(value, 11, -14, 15));
  if (std::isinf(rounded)) return sign | 0x7C00;
  if (rounded < std::scalbn(1.0, -14))
    return sign | static_cast<uint16_t>(std::scalbn(rounded, 24));
  int exponent = std::ilogb(rounded);
  auto mantissa = static_cast<uint16_t>(std::scalbn(rounded, 10 - exponent) - 1024);
  return static_cast<uint16_t>(sign | ((exponent + 15) << 10) | mantissa);
}

uint16_t Bf16FromF64(double value) {
  if (std::isnan(value)) return static_cast<uint16_t>(0x7FC0 | (std::signbit(value) ? 0x8000 : 0));
  auto rounded = static_cast<float>(RoundTo(value, 8, -126, 127));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}

double F64FromF16(uint16_t bits) {
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  int exponent = (bits >> 10) & 31;
  int mantissa = bits & 1023;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::scalbn(static_cast<double>(mantissa), -24);
  return sign * std::scalbn(static_cast<double>(1024 + mantissa), exponent - 25);
}

double F64FromBf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
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
