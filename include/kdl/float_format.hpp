// How floats lie in their bits: what follows from a row of scalars.def, and the numbers of narrow floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kdl/version.h"

namespace kdl::inline KDL_VERSIONED {

// Bits of numbers, infinities and NaNs are those without sign.
struct FloatFormat {
  int exponent = 0;  // how many bits
  int fraction = 0;
  bool has_infinity = false;
  bool has_nan = false;
  bool saturates = false;  // what is too large becomes the largest number

  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr int least_exponent() const { return 1 - bias(); }  // of normal numbers
  constexpr std::uint64_t sign() const { return std::uint64_t{1} << (exponent + fraction); }
  constexpr std::uint64_t largest() const {
    const std::uint64_t beyond =
        has_infinity ? sign() - (std::uint64_t{1} << fraction) : sign() - (has_nan ? 1 : 0);
    return beyond - 1;
  }
  // Of a format that has such.
  constexpr std::uint64_t infinity() const { return largest() + 1; }
  // The quiet one without payload; of a format that saturates all bits.
  constexpr std::uint64_t nan() const {
    return saturates ? sign() - 1 : infinity() | std::uint64_t{1} << (fraction - 1);
  }

  // The number of a narrow float, which f64 has.
  double ValueOf(std::uint64_t bits) const {
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

  // The bits of a narrow float: one rounding, to nearest even. NaN stays NaN, or gives 0 where there is none.
  std::uint64_t BitsOf(double value) const {
    if (std::isnan(value) && !has_nan) return 0;
    const std::uint64_t negative = std::signbit(value) ? sign() : 0;
    if (std::isnan(value)) return negative | nan();
    const double magnitude = std::fmin(std::fabs(value), std::ldexp(1.0, bias() + 2));
    const int scale =
        magnitude == 0 ? least_exponent() : std::max(std::ilogb(magnitude), least_exponent());
    const double units = std::nearbyint(std::ldexp(magnitude, fraction - scale));
    // A fraction that is rounded up to the next exponent's first one counts on there.
    const std::uint64_t bits = static_cast<std::uint64_t>(units) +
                               (static_cast<std::uint64_t>(scale - least_exponent()) << fraction);
    return negative | std::min(bits, saturates ? largest() : largest() + 1);
  }
};

}  // namespace kdl::inline KDL_VERSIONED
