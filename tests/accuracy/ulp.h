// Measures errors in units in the last place (ulps).
#pragma once

#include <mpfr.h>

namespace accuracy {

// A binary format. Numbers below `least` have the same ulp as `least`.
struct Format {
  const char* name;
  int digits;    // digits of the significand, including the leading one
  int exponent;  // all finite numbers are below 2^exponent
  double least;  // the smallest normal number

  int least_ulp() const { return 3 - exponent - digits; }
};

inline constexpr Format kF16 = {"f16", 11, 16, 0x1p-14};
inline constexpr Format kBf16 = {"bf16", 8, 128, 0x1p-126};
inline constexpr Format kF32 = {"f32", 24, 128, 0x1p-126};
inline constexpr Format kF64 = {"f64", 53, 1024, 0x1p-1022};

// The exact result in units of its last place: high + low. Infinities, NaN and zeros are in `high`.
struct Reference {
  double high;
  double low;
  int ulp;          // the unit is 2^ulp
  bool subnormal;   // below the smallest normal number
  bool above_half;  // subnormal, but so close to `least` that rounding may reach it
};

Reference ReferenceOf(mpfr_t value, const Format& format);
Reference ReferenceOf(double value, const Format& format);

// Returns the distance of `got` from the reference. It is infinity if `got` is of the wrong kind, such as a
// number instead of NaN, or a zero of the wrong sign. If `flushes`, subnormal results must be zero.
double Distance(double got, const Reference& reference, const Format& format, bool flushes);

}  // namespace accuracy
