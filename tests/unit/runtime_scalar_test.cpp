// Checks at edge cases that programs in C (kdl/scalar.h) compute the same bits on scalars as programs in C++
// (kdl/scalar.hpp).
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "kdl/scalar.h"
#include "kdl/scalar.hpp"
#include "kdl/sizes.h"

namespace kdl {
namespace {

// Converts a value to its type in C, where narrow floats are represented by their bits.
template <class T>
auto Raw(T value) {
  if constexpr (Narrow<T>) {
    return value.bits;
  } else {
    return value;
  }
}

template <class T>
std::uint64_t Bits(T value) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
std::vector<T> Edges() {
  std::vector<T> values;
  if constexpr (std::same_as<T, bool>) {
    values = {false, true};
  } else if constexpr (Narrow<T>) {
    using Number = decltype(T{}.bits);
    for (int bits = 0; bits <= std::numeric_limits<Number>::max(); bits += sizeof(T) == 1 ? 1 : 7)
      values.push_back({static_cast<Number>(bits)});
  } else {
    for (const double value :
         {0.0,     1.0,    2.0,     3.0,     7.0,     127.0,   128.0,   255.0,   256.0,
          448.0,   464.0,  32767.0, 32768.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0,
          65536.0, 0x1p24, 0x1p31,  0x1p32,  0x1p53,  0x1p63,  0x1p64,  0x1p100}) {
      for (const double step : {0.0, 0.25, 0.5, 0.75, 1.0, -1.0}) {
        values.push_back(As<T>(value + step));
        values.push_back(As<T>(-value - step));
      }
    }
    values.push_back(std::numeric_limits<T>::max());
    values.push_back(std::numeric_limits<T>::lowest());
    if constexpr (std::floating_point<T>) {
      using Limits = std::numeric_limits<T>;
      for (const T value : {Limits::infinity(), Limits::quiet_NaN(), Limits::min(),
                            Limits::denorm_min(), T(1e-7), T(5e-5)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    } else {
      for (const int shift : {0, 1, 11, 12, 13})
        values.push_back(
            static_cast<T>((T{1} << (sizeof(T) * 8 - 2)) + (T{1} << shift % (sizeof(T) * 8))));
    }
  }
  return values;
}

// Returns whether the bits are the same. Any two NaNs count as the same, because their signs and payloads are
// unspecified.
template <class T>
bool IsSame(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (a != a && b != b) return true;
  }
  return Bits(a) == Bits(b);
}

// Returns the number of values for which C and C++ give different results.
template <class T, class InC, class InCpp>
int Differences(InC in_c, InCpp in_cpp) {
  int count = 0;
  for (const T a : Edges<T>()) count += Bits(in_c(Raw(a))) != Bits(Raw(in_cpp(a))) ? 1 : 0;
  return count;
}
template <class T, class InC, class InCpp>
int Differences2(InC in_c, InCpp in_cpp) {
  int count = 0;
  for (const T a : Edges<T>()) {
    for (const T b : Edges<T>()) count += IsSame(in_c(a, b), in_cpp(a, b)) ? 0 : 1;
  }
  return count;
}

#define CONVERT(to, To, from, From) \
  INFO(#from " as " #to);           \
  CHECK(Differences<From>(kdl_##to##_of_##from, [](From a) { return As<To>(a); }) == 0);
#define CONVERT_FROM(from, From)                     \
  TEST_CASE("scalars in C: conversions of " #from) { \
    {                                                \
      CONVERT(bool, bool, from, From)                \
    }                                                \
    {                                                \
      CONVERT(i8, std::int8_t, from, From)           \
    }                                                \
    {                                                \
      CONVERT(i16, std::int16_t, from, From)         \
    }                                                \
    {                                                \
      CONVERT(i32, std::int32_t, from, From)         \
    }                                                \
    {                                                \
      CONVERT(i64, std::int64_t, from, From)         \
    }                                                \
    {                                                \
      CONVERT(u8, std::uint8_t, from, From)          \
    }                                                \
    {                                                \
      CONVERT(u16, std::uint16_t, from, From)        \
    }                                                \
    {                                                \
      CONVERT(u32, std::uint32_t, from, From)        \
    }                                                \
    {                                                \
      CONVERT(u64, std::uint64_t, from, From)        \
    }                                                \
    {                                                \
      CONVERT(f32, float, from, From)                \
    }                                                \
    {                                                \
      CONVERT(f64, double, from, From)               \
    }                                                \
  }
CONVERT_FROM(bool, bool)
CONVERT_FROM(i8, std::int8_t)
CONVERT_FROM(i16, std::int16_t)
CONVERT_FROM(i32, std::int32_t)
CONVERT_FROM(i64, std::int64_t)
CONVERT_FROM(u8, std::uint8_t)
CONVERT_FROM(u16, std::uint16_t)
CONVERT_FROM(u32, std::uint32_t)
CONVERT_FROM(u64, std::uint64_t)
CONVERT_FROM(f32, float)
CONVERT_FROM(f64, double)
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, bits, ctype, Cpp, ...) \
  CONVERT_FROM(spelling, Cpp)                                             \
  TEST_CASE("scalars in C: conversions to " #spelling) {                  \
    CONVERT(spelling, Cpp, bool, bool)                                    \
    CONVERT(spelling, Cpp, i8, std::int8_t)                               \
    CONVERT(spelling, Cpp, i16, std::int16_t)                             \
    CONVERT(spelling, Cpp, i32, std::int32_t)                             \
    CONVERT(spelling, Cpp, i64, std::int64_t)                             \
    CONVERT(spelling, Cpp, u8, std::uint8_t)                              \
    CONVERT(spelling, Cpp, u16, std::uint16_t)                            \
    CONVERT(spelling, Cpp, u32, std::uint32_t)                            \
    CONVERT(spelling, Cpp, u64, std::uint64_t)                            \
    CONVERT(spelling, Cpp, f32, float)                                    \
    CONVERT(spelling, Cpp, f64, double)                                   \
  }
#include "kdl/scalars.def"

// Avoids division by 0, which is an error in a program.
template <class T, class Divide>
auto Guarded(Divide divide) {
  return [=](T a, T b) { return b == 0 ? T{0} : divide(a, b); };
}

#define OF_1(name, Name, type, T) \
  CHECK(Differences<T>(kdl_##name##_##type, [](T a) { return Name(a); }) == 0);
#define OF_2(name, Name, type, T)                        \
  CHECK(Differences2<T>(Guarded<T>(kdl_##name##_##type), \
                        Guarded<T>([](T a, T b) { return static_cast<T>(Name(a, b)); })) == 0);

#define KDL_FLOATS(Name, name, arity, expression)                          \
  TEST_CASE("scalars in C: " #name " of floats") {                         \
    OF_##arity(name, Name, f32, float) OF_##arity(name, Name, f64, double) \
  }
#define KDL_SIGNED(Name, name, arity, expression)                                           \
  TEST_CASE("scalars in C: " #name " with sign") {                                          \
    OF_##arity(name, Name, i8, std::int8_t) OF_##arity(name, Name, i16, std::int16_t)       \
        OF_##arity(name, Name, i32, std::int32_t) OF_##arity(name, Name, i64, std::int64_t) \
  }
#define KDL_UNSIGNED(Name, name, arity, expression)                                           \
  TEST_CASE("scalars in C: " #name " without sign") {                                         \
    OF_##arity(name, Name, u8, std::uint8_t) OF_##arity(name, Name, u16, std::uint16_t)       \
        OF_##arity(name, Name, u32, std::uint32_t) OF_##arity(name, Name, u64, std::uint64_t) \
  }
#define KDL_BOOLS(Name, name, arity, expression) \
  TEST_CASE("scalars in C: " #name " of bool") { OF_##arity(name, Name, bool, bool) }
#define KDL_OWN_FLOATS(Name, name, arity, expression)
#define KDL_OWN_SIGNED(Name, name, arity, expression)
#define KDL_OWN_UNSIGNED(Name, name, arity, expression)
#define KDL_OWN_BOOLS(Name, name, arity, expression)
#include "kdl/scalar_ops.def"

TEST_CASE("scalars in C: operations that have their own functions"){
#define KDL_SCALAR(Name, ID, type, code, bits, Group, T, comment) OWN_##Group(type, T)
#define OWN_Bool(type, T)
#define OWN_Float(type, T) OF_2(min, Min, type, T) OF_2(max, Max, type, T)
#define OWN_Signed(type, T) OF_2(div, Div, type, T) OF_2(rem, Rem, type, T)
#define OWN_Unsigned(type, T) OWN_Signed(type, T)
#define KDL_NARROW_FLOAT(...)
#include "kdl/scalars.def"
    OF_1(to_bits, ToBits, f32, float) OF_1(to_bits, ToBits, f64, double)
        OF_1(from_bits, FromBits, i32, std::int32_t) OF_1(from_bits, FromBits, i64, std::int64_t)}

TEST_CASE("sizes in C: a size without a value stays so, whatever is computed from it") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::int64_t none = kdl_size_mul(kMax, 2);
  CHECK(none == KDL_NO_SIZE);
  CHECK(kdl_size_div(1, 0) == KDL_NO_SIZE);
  CHECK(kdl_size_mod(1, 0) == KDL_NO_SIZE);
  CHECK(kdl_size_mul(none, 0) == KDL_NO_SIZE);
  CHECK(kdl_size_div(none, -3) == KDL_NO_SIZE);
  CHECK(kdl_size_mod(none, 5) == KDL_NO_SIZE);
  CHECK(kdl_size_add(none, kMax) == KDL_NO_SIZE);
  CHECK(kdl_size_sub(none, -kMax) == KDL_NO_SIZE);
  CHECK(kdl_size_min(7, none) == KDL_NO_SIZE);
  CHECK(kdl_size_div(-7, 2) == -4);
  CHECK(kdl_size_mod(-7, 2) == 1);
}

}  // namespace
}  // namespace kdl
