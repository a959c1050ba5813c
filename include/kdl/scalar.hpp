// What the operators of the language compute on scalars, to the bit, for programs on the host:
// integers wrap, division floors, shift counts count modulo the width, conversions of floats
// saturate. Comparisons are C++'s own; so is the arithmetic of float and double, as long as the
// compiler is not told otherwise (-ffast-math).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "kdl/values.hpp"

namespace kdl::inline KDL_VERSIONED {

// The second operand takes the type of the first, so that it may be a literal.
template <class T>
using Same = std::type_identity_t<T>;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Narrow = std::same_as<T, F8E4M3> || std::same_as<T, F8E5M2> || std::same_as<T, F16> ||
                 std::same_as<T, Bf16>;

namespace detail {

template <Integer T>
constexpr std::uint64_t Wide(T value) {
  return static_cast<std::uint64_t>(value);
}

inline float Widened(F16 value) {
  const int exponent = value.bits >> 10 & 31;
  const float fraction = static_cast<float>(value.bits & 1023);
  float magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  }
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}
// A float of a byte that has so many bits of fraction; `largest`: the bits of its largest number, behind which there are an
// infinity, where it has such, and NaN.
inline float WidenedByte(std::uint8_t bits, int fraction, int largest, bool has_infinity) {
  const int rest = bits & 0x7f;
  const int least = 2 - (1 << (6 - fraction)) - fraction;  // the exponent of the smallest number
  const int exponent = rest >> fraction;
  const int units = rest - (exponent << fraction) + (exponent > 0 ? 1 << fraction : 0);
  float magnitude = std::ldexp(static_cast<float>(units), least + std::max(exponent - 1, 0));
  if (rest > largest) {
    magnitude = has_infinity && rest == largest + 1 ? std::numeric_limits<float>::infinity()
                                                    : std::numeric_limits<float>::quiet_NaN();
  }
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}
inline float Widened(F8E4M3 value) { return WidenedByte(value.bits, 3, 0x7e, false); }
inline float Widened(F8E5M2 value) { return WidenedByte(value.bits, 2, 0x7b, true); }
inline float Widened(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// The bits of a format with `fraction` bits behind the point and an exponent of `width` bits; one
// rounding, to nearest even.
inline std::uint16_t Narrowed(double value, int fraction, int width) {
  const int bias = (1 << (width - 1)) - 1;
  const int infinity = ((1 << width) - 1) << fraction;
  const double magnitude = std::fabs(value);
  int bits = infinity;
  if (std::isnan(value)) {
    bits |= 1 << (fraction - 1);
  } else if (magnitude < std::ldexp(1.0, bias + 1)) {
    const int least = 1 - bias;
    const int scale = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
    const double units = std::nearbyint(std::ldexp(magnitude, fraction - scale));
    bits = static_cast<int>(units) + ((scale - least) << fraction);
  }
  return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 1 << (fraction + width) : 0));
}

// The bits of a float of a byte: one rounding, to nearest even, and no larger than the largest number.
inline std::uint8_t NarrowedByte(double value, int fraction, int largest) {
  const int least = 2 - (1 << (6 - fraction));  // the exponent of the smallest normal number
  const double magnitude = std::fmin(std::fabs(value), 0x1p20);
  const int scale = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  const double units = std::nearbyint(std::ldexp(magnitude, fraction - scale));
  int bits = std::min(static_cast<int>(units) + ((scale - least) << fraction), largest);
  if (std::isnan(value)) bits = 0x7f;
  return static_cast<std::uint8_t>(bits | (std::signbit(value) ? 0x80 : 0));
}

// A double that rounds to fewer bits as the value itself would: above 2^53 the low bits become one
// that says whether any was set.
template <class T>
double Sticky(T value) {
  const auto exact = static_cast<double>(value);
  if constexpr (Integer<T> && sizeof(T) == 8) {
    if (std::fabs(exact) < 0x1p53) return exact;
    return std::ldexp(static_cast<double>((value >> 12) | ((value & 4095) != 0 ? 1 : 0)), 12);
  }
  return exact;
}

}  // namespace detail

template <Integer T>
constexpr T Add(T a, Same<T> b) {
  return static_cast<T>(detail::Wide(a) + detail::Wide(b));
}
template <std::floating_point T>
constexpr T Add(T a, Same<T> b) {
  return a + b;
}
template <Integer T>
constexpr T Sub(T a, Same<T> b) {
  return static_cast<T>(detail::Wide(a) - detail::Wide(b));
}
template <std::floating_point T>
constexpr T Sub(T a, Same<T> b) {
  return a - b;
}
template <Integer T>
constexpr T Mul(T a, Same<T> b) {
  return static_cast<T>(detail::Wide(a) * detail::Wide(b));
}
template <std::floating_point T>
constexpr T Mul(T a, Same<T> b) {
  return a * b;
}
template <Integer T>
constexpr T Neg(T a) {
  return static_cast<T>(0 - detail::Wide(a));
}
template <std::floating_point T>
constexpr T Neg(T a) {
  return -a;
}
template <Integer T>
constexpr T Abs(T a) {
  return a < T{0} ? Neg(a) : a;
}
template <std::floating_point T>
T Abs(T a) {
  return std::fabs(a);
}

// floor(a / b). `trap` is the message of a division by zero.
template <Integer T>
T Div(T a, Same<T> b, const char* trap = "division by zero") {
  if (b == 0) throw Error(KDL_ERROR_TRAP, trap);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return Neg(a);
    const bool went_up = a % b != 0 && (a < 0) != (b < 0);
    return static_cast<T>(a / b - (went_up ? 1 : 0));
  }
  return static_cast<T>(a / b);
}
template <std::floating_point T>
constexpr T Div(T a, Same<T> b) {
  return a / b;
}
// a - b * floor(a / b).
template <Integer T>
T Rem(T a, Same<T> b, const char* trap = "division by zero") {
  return Sub(a, Mul(b, Div(a, b, trap)));
}

template <std::integral T>
constexpr T And(T a, Same<T> b) {
  return static_cast<T>(a & b);
}
template <std::integral T>
constexpr T Or(T a, Same<T> b) {
  return static_cast<T>(a | b);
}
template <std::integral T>
constexpr T Xor(T a, Same<T> b) {
  return static_cast<T>(a ^ b);
}
template <Integer T>
constexpr T Not(T a) {
  return static_cast<T>(~detail::Wide(a));
}
constexpr bool Not(bool a) { return !a; }
template <Integer T>
constexpr T Shl(T a, Same<T> b) {
  return static_cast<T>(detail::Wide(a) << (detail::Wide(b) & (sizeof(T) * 8 - 1)));
}
template <Integer T>
constexpr T Shr(T a, Same<T> b) {
  return static_cast<T>(a >> (detail::Wide(b) & (sizeof(T) * 8 - 1)));
}

// NaN propagates; -0 is below 0.
template <class T>
T Max(T a, Same<T> b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}
template <class T>
T Min(T a, Same<T> b) {
  if constexpr (std::floating_point<T>) {
    return -Max(-a, -b);
  } else {
    return b < a ? b : a;
  }
}
template <std::floating_point T>
T Fma(T a, Same<T> b, Same<T> c) {
  return std::fma(a, b, c);
}
template <std::floating_point T>
T Floor(T a) {
  return std::floor(a);
}
template <std::floating_point T>
T Ceil(T a) {
  return std::ceil(a);
}
template <std::floating_point T>
T Round(T a) {
  return std::nearbyint(a);
}
template <std::floating_point T>
T Sqrt(T a) {
  return std::sqrt(a);
}

// What is compared, as no compiler sees it: LLVM takes `x < 0 ? 0 : x` for a maximum, and mixes up the zeros.
template <std::floating_point T>
T Seen(T a) {
  volatile T seen = a;
  return seen;
}

// The bits of a float; those of a NaN are the canonical quiet one's.
inline std::int32_t ToBits(float a) {
  return std::bit_cast<std::int32_t>(std::isnan(a) ? std::numeric_limits<float>::quiet_NaN() : a);
}
inline std::int64_t ToBits(double a) {
  return std::bit_cast<std::int64_t>(std::isnan(a) ? std::numeric_limits<double>::quiet_NaN() : a);
}
inline float FromBits(std::int32_t bits) { return std::bit_cast<float>(bits); }
inline double FromBits(std::int64_t bits) { return std::bit_cast<double>(bits); }

// `as`: integers wrap, floats truncate and saturate (NaN gives 0), to floats it rounds once.
template <class To, class From>
To As(From value) {
  if constexpr (Narrow<From>) {
    return As<To>(detail::Widened(value));
  } else if constexpr (std::same_as<To, bool>) {
    return value != From{0};
  } else if constexpr (std::same_as<To, F8E4M3>) {
    return {detail::NarrowedByte(detail::Sticky(value), 3, 0x7e)};
  } else if constexpr (std::same_as<To, F8E5M2>) {
    return {detail::NarrowedByte(detail::Sticky(value), 2, 0x7b)};
  } else if constexpr (std::same_as<To, F16>) {
    return {detail::Narrowed(detail::Sticky(value), 10, 5)};
  } else if constexpr (std::same_as<To, Bf16>) {
    return {detail::Narrowed(detail::Sticky(value), 7, 8)};
  } else if constexpr (std::floating_point<From> && Integer<To>) {
    if (std::isnan(value)) return 0;
    if (value >= std::ldexp(From{1}, std::numeric_limits<To>::digits)) {
      return std::numeric_limits<To>::max();
    }
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace kdl::inline KDL_VERSIONED
