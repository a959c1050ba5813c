#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/float16.h"
#include "support/float8.h"
#include "support/scalar.h"

// Scalars as C++ types, for what computes with them.

namespace kdl::ir {

struct E4m3 {
  uint8_t bits;
};
struct E5m2 {
  uint8_t bits;
};
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

template <Scalar scalar>
struct CppType;
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
template <> struct CppType<Scalar::F8E4M3> { using Type = E4m3; };
template <> struct CppType<Scalar::F8E5M2> { using Type = E5m2; };
template <> struct CppType<Scalar::F16> { using Type = Half; };
template <> struct CppType<Scalar::BF16> { using Type = BFloat; };
template <> struct CppType<Scalar::F32> { using Type = float; };
template <> struct CppType<Scalar::F64> { using Type = double; };
// clang-format on

template <class T>
concept Bool = std::same_as<T, bool>;
template <class T>
concept Integer = std::integral<T> && !Bool<T>;
template <class T>
concept Narrow = std::same_as<T, E4m3> || std::same_as<T, E5m2> || std::same_as<T, Half> ||
                 std::same_as<T, BFloat>;
template <class T>
concept Wide = std::floating_point<T>;

inline double Exact(E4m3 value) { return F64FromF8(kF8E4M3, value.bits); }
inline double Exact(E5m2 value) { return F64FromF8(kF8E5M2, value.bits); }
inline double Exact(Half value) { return F64FromF16(value.bits); }
inline double Exact(BFloat value) { return F64FromBf16(value.bits); }

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

/// The bit of its sign.
template <Narrow T>
constexpr int SignOf() {
  return 1 << (8 * sizeof(T) - 1);
}

template <Narrow T>
T NarrowFrom(double value) {
  if constexpr (std::same_as<T, E4m3>) {
    return {F8FromF64(kF8E4M3, value)};
  } else if constexpr (std::same_as<T, E5m2>) {
    return {F8FromF64(kF8E5M2, value)};
  } else if constexpr (std::same_as<T, Half>) {
    return {F16FromF64(value)};
  } else {
    return {Bf16FromF64(value)};
  }
}

}  // namespace kdl::ir
