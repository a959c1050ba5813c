#include "ulp.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace accuracy {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the exponent of the ulp of numbers in [2^(exponent - 1), 2^exponent).
int UlpAt(int exponent, const Format& format) {
  return std::clamp(exponent - format.digits, format.least_ulp(), format.exponent - format.digits);
}

Reference Marked(Reference reference, const Format& format) {
  const double limit = std::ldexp(1.0, format.digits - 1);
  reference.subnormal = reference.ulp == format.least_ulp() && std::fabs(reference.high) < limit;
  reference.above_half = reference.subnormal && std::fabs(reference.high) >= limit - 1;
  // Numbers far above the largest finite number round to infinity. 2^exponent represents all of them.
  const double top = std::ldexp(1.0, format.digits);
  if (std::isfinite(reference.high) && std::fabs(reference.high) >= top) {
    reference.high = std::copysign(top, reference.high);
    reference.low = 0;
  }
  return reference;
}

}  // namespace

Reference ReferenceOf(mpfr_t value, const Format& format) {
  if (!mpfr_regular_p(value)) return {mpfr_get_d(value, MPFR_RNDN), 0, 0, false, false};
  const auto exponent =
      static_cast<int>(std::clamp<mpfr_exp_t>(mpfr_get_exp(value), -5000, format.exponent + 1));
  const int ulp = UlpAt(exponent, format);
  mpfr_t scaled;
  mpfr_init2(scaled, mpfr_get_prec(value));
  mpfr_mul_2si(scaled, value, -ulp, MPFR_RNDN);
  const double high = mpfr_get_d(scaled, MPFR_RNDN);
  double low = 0;
  if (std::isfinite(high)) {
    mpfr_sub_d(scaled, scaled, high, MPFR_RNDN);
    low = mpfr_get_d(scaled, MPFR_RNDN);
  }
  mpfr_clear(scaled);
  // Zero is reserved for exact zeros.
  const double sign = mpfr_signbit(value) ? -1.0 : 1.0;
  const double nonzero = high == 0 ? sign * std::numeric_limits<double>::min() : high;
  return Marked({std::isinf(nonzero) ? sign * 0x1p1000 : nonzero, low, ulp, false, false}, format);
}

Reference ReferenceOf(double value, const Format& format) {
  if (value == 0 || !std::isfinite(value)) return {value, 0, 0, false, false};
  const int ulp = UlpAt(std::ilogb(value) + 1, format);
  return Marked({std::ldexp(value, -ulp), 0, ulp, false, false}, format);
}

double Distance(double got, const Reference& reference, const Format& format, bool flushes) {
  const double want = reference.high;
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? 0 : kInfinity;
  }
  if (std::isinf(want)) return got == want ? 0 : kInfinity;
  const bool same_sign = std::signbit(got) == std::signbit(want);
  if (want == 0) return got == 0 && same_sign ? 0 : kInfinity;
  if (flushes && reference.subnormal) {
    if (got == 0) return same_sign ? 0 : kInfinity;
    if (!reference.above_half || std::fabs(got) != format.least) return kInfinity;
  }
  const double units = std::isinf(got)
                           ? std::copysign(std::ldexp(1.0, format.exponent - reference.ulp), got)
                           : std::ldexp(got, -reference.ulp);
  return std::fabs((units - want) - reference.low);
}

}  // namespace accuracy
