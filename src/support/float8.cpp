#include "support/float8.h"

#include <algorithm>
#include <cmath>

namespace kdl {

namespace {

constexpr uint8_t kSign = 0x80;

}  // namespace

uint8_t F8FromF64(const Float8& format, double value) {
  auto sign = static_cast<uint8_t>(std::signbit(value) ? kSign : 0);
  if (std::isnan(value)) return sign | kF8Nan;
  double magnitude = std::fabs(value);
  if (magnitude >= std::fabs(F64FromF8(format, format.largest))) return sign | format.largest;
  int least = format.least_exponent();
  int exponent = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  // A fraction that is rounded up to the next exponent's first one counts on there.
  auto units = static_cast<int>(std::nearbyint(std::scalbn(magnitude, format.fraction - exponent)));
  int bits = units + ((exponent - least) << format.fraction);
  return static_cast<uint8_t>(sign | std::min(bits, int{format.largest}));
}

bool IsBeyond(const Float8& format, double value) {
  double largest = F64FromF8(format, format.largest);
  double step = largest - F64FromF8(format, static_cast<uint8_t>(format.largest - 1));
  return std::fabs(value) >= largest + step / 2;
}

double F64FromF8(const Float8& format, uint8_t bits) {
  double sign = (bits & kSign) != 0 ? -1.0 : 1.0;
  int magnitude = bits & ~kSign;
  if (magnitude > format.largest)
    return format.has_infinity && magnitude == format.largest + 1 ? sign * INFINITY : NAN;
  int fraction = magnitude & ((1 << format.fraction) - 1);
  int exponent = magnitude >> format.fraction;
  if (exponent > 0) fraction |= 1 << format.fraction;
  int scale = format.least_exponent() + std::max(exponent - 1, 0) - format.fraction;
  return sign * std::scalbn(static_cast<double>(fraction), scale);
}

}  // namespace kdl
