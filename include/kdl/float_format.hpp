// The bit layouts of float types, derived from the rows of scalars.def, and conversions of narrow floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kdl/version.h"

namespace kdl::inline KDL_VERSIONED {

// The layout of a float type. All bit patterns that its functions return have sign 0, except those of `sign`
// and `BitsOf`. A type without fraction contains powers of two: it has neither a sign nor zero, and `sign` is a
// bit that no value has.
struct FloatFormat {
  int exponent = 0;  // number of bits of the exponent
  int fraction = 0;
  bool has_infinity = false;
  bool has_nan = false;
  bool saturates = false;  // whether overflow gives the largest number

  constexpr bool has_only_powers() const { return fraction == 0; }
  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr int least_exponent() const { return 1 - bias(); }  // least exponent of normal numbers
  constexpr std::uint64_t sign() const { return std::uint64_t{1} << (exponent + fraction); }
  constexpr std::uint64_t largest() const {
    const std::uint64_t beyond =
        has_infinity ? sign() - (std::uint64_t{1} << fraction) : sign() - (has_nan ? 1 : 0);
    return beyond - 1;
  }
  // Returns the bits of infinity. The format must have infinities.
  constexpr std::uint64_t infinity() const { return largest() + 1; }
  // Returns the bits of the quiet NaN without payload. If the format saturates, all bits of the NaN except
  // the sign are set.
  constexpr std::uint64_t nan() const {
    return saturates ? sign() - 1 : infinity() | std::uint64_t{1} << (fraction - 1);
  }

  // Returns the value of a narrow float. A double represents it exactly.
  double ValueOf(std::uint64_t bits) const {
    if (has_only_powers()) {
      return bits == nan() ? std::numeric_limits<double>::quiet_NaN()
                           : std::ldexp(1.0, static_cast<int>(bits) - bias());
    }
    const std::uint64_t magnitude = bits & (sign() - 1);
    const auto above = static_cast<int>(magnitude >> fraction);
    const std::uint64_t hidden = above > 0 ? std::uint64_t{1} << fraction : 0;
    const std::uint64_t units = (magnitude & ((std::uint64_t{1} << fraction) - 1)) | hidden;
    double value = std::ldexp(static_cast<double>(units),
                              least_exponent() - fraction + std::max(above - 1, 0));
    if (magnitude > largest()) {
      value = has_infinity && magnitude == infinity() ? std::numeric_limits<double>::infinity()
                                                      : std::numeric_limits<double>::quiet_NaN();
    }
    return (bits & sign()) != 0 ? -value : value;
  }

  // Returns the bits of the nearest narrow float, with ties to even, after a single rounding. NaN stays NaN,
  // or becomes 0 if the format has no NaN.
  std::uint64_t BitsOf(double value) const {
    if (has_only_powers()) return PowerBitsOf(value);
    if (std::isnan(value) && !has_nan) return 0;
    const std::uint64_t negative = std::signbit(value) ? sign() : 0;
    if (std::isnan(value)) return negative | nan();
    const double magnitude = std::fmin(std::fabs(value), std::ldexp(1.0, bias() + 2));
    const int scale =
        magnitude == 0 ? least_exponent() : std::max(std::ilogb(magnitude), least_exponent());
    const double units = std::nearbyint(std::ldexp(magnitude, fraction - scale));
    // If rounding carries out of the fraction, the addition also increments the exponent.
    const std::uint64_t bits = static_cast<std::uint64_t>(units) +
                               (static_cast<std::uint64_t>(scale - least_exponent()) << fraction);
    return negative | std::min(bits, saturates ? largest() : largest() + 1);
  }

 private:
  // Returns the bits of the nearest power of two. Negative numbers become NaN, and zero the smallest power.
  std::uint64_t PowerBitsOf(double value) const {
    if (std::isnan(value) || value < 0) return nan();
    const double size = std::clamp(value, std::ldexp(1.0, -bias()), ValueOf(largest()));
    const int scale = std::ilogb(size);
    const auto bits = static_cast<std::uint64_t>(scale + bias());
    const double units = std::ldexp(size, -scale);
    const bool is_above = units > 1.5 || (units == 1.5 && bits % 2 != 0);
    return bits + (is_above ? 1 : 0);
  }
};

}  // namespace kdl::inline KDL_VERSIONED
