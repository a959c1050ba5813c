#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/scalar.h"

// The scalar types as C++ types, with their conversions to and from bit patterns.

namespace kdl::ir {

/// A float narrower than f32, represented by its bits.
template <Scalar scalar>
struct NarrowFloat {
  static constexpr FloatFormat kFormat = Info(scalar).format;
  std::conditional_t<Bytes(scalar) == 1, uint8_t, uint16_t> bits;
};

template <Scalar scalar>
struct CppType {
  static_assert(IsNarrowFloat(scalar));
  using Type = NarrowFloat<scalar>;
};
// clang-format off
template <> struct CppType<Scalar::Bool> { using Type = bool; };
template <> struct CppType<Scalar::I8> { using Type = int8_t; };
template <> struct CppType<Scalar::I16> { using Type = int16_t; };
template <> struct CppType<Scalar::I32> { using Type = int32_t; };
template <> struct CppType<Scalar::I64> { using Type = int64_t; };
template <> struct CppType<Scalar::U8> { using Type = uint8_t; };
template <> struct CppType<Scalar::U16> { using Type = uint16_t; };
template <> struct CppType<Scalar::U32> { using Type = uint32_t; };
template <> struct CppType<Scalar::U64> { using Type = uint64_t; };
template <> struct CppType<Scalar::F32> { using Type = float; };
template <> struct CppType<Scalar::F64> { using Type = double; };
// clang-format on

template <class T>
concept Bool = std::same_as<T, bool>;
template <class T>
concept Integer = std::integral<T> && !Bool<T>;
template <class T>
concept Narrow = std::same_as<decltype(T::kFormat), const FloatFormat>;
template <class T>
concept Wide = std::floating_point<T>;

template <Narrow T>
double Exact(T value) {
  return T::kFormat.ValueOf(value.bits);
}

template <Narrow T>
T NarrowFrom(double value) {
  return {static_cast<decltype(T::bits)>(T::kFormat.BitsOf(value))};
}

template <Wide T>
T CanonicalNan(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
T FromPattern(uint64_t bits) {
  if constexpr (Narrow<T>) {
    return {static_cast<decltype(T::bits)>(bits)};
  } else if constexpr (std::same_as<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
uint64_t ToPattern(T value) {
  if constexpr (Narrow<T>) {
    return value.bits;
  } else if constexpr (std::same_as<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (Bool<T>) {
    return value ? 1 : 0;
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

/// Returns the bit mask of the type's sign.
template <Narrow T>
constexpr int SignOf() {
  return static_cast<int>(T::kFormat.sign());
}

}  // namespace kdl::ir
