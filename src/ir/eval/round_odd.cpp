#include "ir/eval/round_odd.h"

#include <bit>
#include <cmath>
#include <limits>

namespace kdl::ir {

namespace {

// the mantissa bits of an f64 that an f32 does not have
constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;
constexpr uint64_t kLastKept = kDropped + 1;

double At(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

uint64_t F32Bits(float value) { return std::bit_cast<uint32_t>(value); }

/// Rounds a number that is exact or has already been rounded to odd.
uint64_t Rounded(double value) {
  if (std::isnan(value)) return F32Bits(std::numeric_limits<float>::quiet_NaN());
  if (std::fabs(value) >= 0x1p128)
    return F32Bits(
        std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value)));
  if (std::fabs(value) < 0x1p-126) return F32Bits(std::copysign(0.F, std::signbit(value) ? -1 : 1));
  auto bits = std::bit_cast<uint64_t>(value);
  if ((bits & kDropped) != 0) bits = (bits & ~kDropped) | kLastKept;
  return F32Bits(static_cast<float>(std::bit_cast<double>(bits)));
}

/// Returns the sum of two f32 numbers as an f64 that is rounded to odd. The error of the f64 sum is computed
/// exactly.
double SumToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  double of_b = sum - a;
  double lost = (a - (sum - of_b)) + (b - of_b);
  bool is_even = (std::bit_cast<uint64_t>(sum) & 1) == 0;
  if (lost == 0 || !is_even) return sum;
  return std::nextafter(sum, std::copysign(std::numeric_limits<double>::infinity(), lost));
}

}  // namespace

uint64_t MulToOdd(const uint64_t* operands, bool*) {
  return Rounded(At(operands[0]) * At(operands[1]));
}

uint64_t AddToOdd(const uint64_t* operands, bool*) {
  return Rounded(SumToOdd(At(operands[0]), At(operands[1])));
}

}  // namespace kdl::ir
