// Defines the exact results of the language's operators on scalars, for programs on the host. Integers wrap,
// division rounds down, shift counts are modulo the width, and conversions from floats saturate. Comparisons,
// and the arithmetic of float and double, are those of C++, unless a compiler option such as -ffast-math
// changes them.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "kdl/values.hpp"

namespace kdl::inline KDL_VERSIONED {

// Prevents type deduction from the second operand, so that it may be a literal.
template <class T>
using Same = std::type_identity_t<T>;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

namespace detail {

// Returns a double that can replace `value` where it is rounded to a shorter float: the result is the same.
// Above 2^53, the double does not have the low bits of `value`. They are replaced by a sticky bit, which is
// set if any of them was set.
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

// clang-format off
#define KDL_OPERANDS_1 T a
#define KDL_OPERANDS_2 T a, Same<T> b
#define KDL_OPERANDS_3 T a, Same<T> b, Same<T> c
// clang-format on
#define KDL_DEFINE(Name, operands, expression)                                              \
  constexpr T Name(operands) {                                                              \
    using U [[maybe_unused]] = std::make_unsigned_t<T>;                                     \
    using W [[maybe_unused]] = std::conditional_t<sizeof(T) == 8, std::uint64_t, unsigned>; \
    [[maybe_unused]] constexpr int M = 8 * sizeof(T) - 1;                                   \
    return static_cast<T>(expression);                                                      \
  }

// Defines a function for each op of scalar_ops.def.
#define KDL_FLOATS(Name, name, arity, expression)                 \
  template <std::floating_point T>                                \
  T Name(KDL_OPERANDS_##arity) {                                  \
    using std::ceil, std::fabs, std::floor, std::rint, std::sqrt; \
    return expression;                                            \
  }
#define KDL_SIGNED(Name, name, arity, expression) \
  template <std::signed_integral T>               \
  KDL_DEFINE(Name, KDL_OPERANDS_##arity, expression)
#define KDL_UNSIGNED(Name, name, arity, expression) \
  template <std::unsigned_integral T>               \
    requires Integer<T>                             \
  KDL_DEFINE(Name, KDL_OPERANDS_##arity, expression)
#define KDL_BOOLS(Name, name, arity, expression) \
  template <std::same_as<bool> T>                \
  constexpr T Name(KDL_OPERANDS_##arity) {       \
    return static_cast<T>(expression);           \
  }
#define KDL_OWN_FLOATS(Name, name, arity, expression)
#define KDL_OWN_SIGNED(Name, name, arity, expression)
#define KDL_OWN_UNSIGNED(Name, name, arity, expression)
#define KDL_OWN_BOOLS(Name, name, arity, expression)
#include "kdl/scalar_ops.def"
#undef KDL_OPERANDS_1
#undef KDL_OPERANDS_2
#undef KDL_OPERANDS_3
#undef KDL_DEFINE

// Returns floor(a / b). If b is 0, throws an error with the message `trap`.
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
// Returns a - b * floor(a / b). If b is 0, throws an error with the message `trap`.
template <Integer T>
T Rem(T a, Same<T> b, const char* trap = "division by zero") {
  return Sub(a, Mul(b, Div(a, b, trap)));
}

// Return the maximum and the minimum. NaN propagates, and -0 is less than 0.
template <std::floating_point T>
T Max(T a, Same<T> b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}
template <std::floating_point T>
T Min(T a, Same<T> b) {
  return -Max(-a, -b);
}
template <std::floating_point T>
T Fma(T a, Same<T> b, Same<T> c) {
  return std::fma(a, b, c);
}

// Hides an operand of a comparison from the optimizer. Otherwise, LLVM turns `x < 0 ? 0 : x` into a maximum,
// which does not distinguish the two zeros.
template <std::floating_point T>
T Seen(T a) {
  volatile T seen = a;
  return seen;
}

// Returns the bits of a float. For every NaN, they are the bits of the canonical quiet NaN.
inline std::int32_t ToBits(float a) {
  return std::bit_cast<std::int32_t>(std::isnan(a) ? std::numeric_limits<float>::quiet_NaN() : a);
}
inline std::int64_t ToBits(double a) {
  return std::bit_cast<std::int64_t>(std::isnan(a) ? std::numeric_limits<double>::quiet_NaN() : a);
}
inline float FromBits(std::int32_t bits) { return std::bit_cast<float>(bits); }
inline double FromBits(std::int64_t bits) { return std::bit_cast<double>(bits); }

// Computes `value as To`. Integers wrap. Floats are truncated and saturate, and NaN gives 0. Conversions to
// floats round once.
template <class To, class From>
To As(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (Narrow<From>) {
    return As<To>(static_cast<float>(From::kFormat.ValueOf(value.bits)));
  } else if constexpr (std::same_as<To, bool>) {
    return value != From{0};
  } else if constexpr (Narrow<To>) {
    const double exact = detail::Sticky(value);
    return {static_cast<decltype(To::bits)>(To::kFormat.BitsOf(exact))};
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
