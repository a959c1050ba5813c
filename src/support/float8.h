#pragma once

#include <cstdint>

#include "support/scalar.h"

namespace kdl {

/// A one-byte float: a sign, an exponent, `fraction` bits. What a number becomes is rounded once, to nearest even, and no larger
/// than the largest one: infinities neither. A NaN has all bits set but the sign's.
struct Float8 {
  int fraction;
  int bias;
  uint8_t largest;
  bool
      has_infinity;  ///< the largest exponent is that of infinities and NaN; else one pattern alone is NaN

  int least_exponent() const { return 1 - bias; }  ///< of normal numbers
};

/// Those of the Open Compute Project's specification.
inline constexpr Float8 kF8E4M3 = {3, 7, 0x7e, false};
inline constexpr Float8 kF8E5M2 = {2, 15, 0x7b, true};
inline constexpr uint8_t kF8Nan = 0x7f;

/// Of a scalar of one byte.
inline const Float8& Float8Of(Scalar scalar) {
  return scalar == Scalar::F8E4M3 ? kF8E4M3 : kF8E5M2;
}

/// Whether the number is larger than what rounds to the largest one.
bool IsBeyond(const Float8& format, double value);
uint8_t F8FromF64(const Float8& format, double value);
double F64FromF8(const Float8& format, uint8_t bits);

}  // namespace kdl
