/* The exact results of the language's operators on scalars, for programs on the host in C. The names of the
 * functions contain the type in which they compute: kdl_add_i32, kdl_f16_of_f32 and so on. Integers wrap,
 * division rounds down, shift counts are modulo the width, and conversions from floats saturate. Comparisons,
 * and the arithmetic of float and double, are those of C, unless the compiler is told otherwise
 * (-ffast-math). Narrow floats are represented by their bits. scalar.hpp is the same for C++. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- building blocks ---- */

/* Returns the bits of the largest finite number, with sign 0. Narrow floats have `width` bits of exponent
 * above `fraction` bits of fraction. They may have infinities and NaNs, whose bits follow those of the
 * largest number, and may saturate (see scalars.def). */
static inline int kdl_largest(int width, int fraction, bool infinities, bool nans) {
  const int sign = 1 << (fraction + width);
  return infinities ? sign - (1 << fraction) - 1 : sign - 1 - (nans ? 1 : 0);
}

/* The same as kdl_narrowed and kdl_widened for a type without fraction, whose values are powers of two: it has
 * neither a sign nor zero. Negative numbers become NaN, and zero the smallest power. */
static inline int kdl_power_bits(double value, int width) {
  const int bias = (1 << (width - 1)) - 1;
  const int nan_bits = (1 << width) - 1;
  if (isnan(value) || value < 0) return nan_bits;
  const double size = fmin(fmax(value, ldexp(1.0, -bias)), ldexp(1.0, bias));
  const int bits = ilogb(size) + bias;
  const double units = ldexp(size, bias - bits);
  return bits + (units > 1.5 || (units == 1.5 && bits % 2 != 0) ? 1 : 0);
}
static inline float kdl_power(int bits, int width) {
  const int bias = (1 << (width - 1)) - 1;
  return bits == (1 << width) - 1 ? NAN : ldexpf(1.0f, bits - bias);
}

/* Returns the bits of the narrow float nearest to the value. Rounds once, with ties to even. NaN stays
 * NaN, or becomes 0 if the format has none. */
static inline int kdl_narrowed(double value, int width, int fraction, bool infinities, bool nans,
                               bool saturates) {
  if (fraction == 0) return kdl_power_bits(value, width);
  const int least = 2 - (1 << (width - 1)); /* exponent of the smallest normal number */
  const int largest = kdl_largest(width, fraction, infinities, nans);
  const int sign = 1 << (fraction + width);
  const double magnitude = fmin(fabs(value), ldexp(1.0, 3 - least));
  const int exponent = magnitude == 0 ? least : ilogb(magnitude);
  const int scale = exponent < least ? least : exponent;
  int bits = (int)nearbyint(ldexp(magnitude, fraction - scale)) + ((scale - least) << fraction);
  if (bits > largest) bits = saturates ? largest : largest + 1;
  if (isnan(value)) bits = saturates ? sign - 1 : (largest + 1) | 1 << (fraction - 1);
  if (isnan(value) && !nans) return 0;
  return signbit(value) ? bits | sign : bits;
}

static inline float kdl_widened(int bits, int width, int fraction, bool infinities, bool nans) {
  if (fraction == 0) return kdl_power(bits, width);
  const int sign = 1 << (fraction + width);
  const int largest = kdl_largest(width, fraction, infinities, nans);
  const int least = 2 - (1 << (width - 1)) - fraction; /* exponent of the smallest number */
  const int rest = bits & (sign - 1);
  const int exponent = rest >> fraction;
  const int units = rest - (exponent << fraction) + (exponent > 0 ? 1 << fraction : 0);
  float magnitude = ldexpf((float)units, least + (exponent > 1 ? exponent - 1 : 0));
  if (rest > largest) magnitude = infinities && rest == largest + 1 ? INFINITY : NAN;
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

/* Returns a double that can replace `value` where it is rounded to a shorter float: the result is the same.
 * Above 2^53, the double does not have the low bits of `value`. They are replaced by a sticky bit, which is
 * set if any of them was set. */
static inline double kdl_sticky_i64(int64_t value) {
  if (fabs((double)value) < 0x1p53) return (double)value;
  return ldexp((double)((value >> 12) | ((value & 4095) != 0 ? 1 : 0)), 12);
}
static inline double kdl_sticky_u64(uint64_t value) {
  if ((double)value < 0x1p53) return (double)value;
  return ldexp((double)((value >> 12) | ((value & 4095) != 0 ? 1 : 0)), 12);
}

/* ---- ops, from scalar_ops.def ---- */

/* clang-format off */
#define KDL_OPERANDS_1(C) C a
#define KDL_OPERANDS_2(C) C a, C b
#define KDL_OPERANDS_3(C) C a, C b, C c
/* clang-format on */
#define KDL_UNUSED __attribute__((unused))
#define KDL_DEFINE(function, operands, expression, C, Unsigned, Wide) \
  static inline C function(operands) {                                \
    typedef C T KDL_UNUSED;                                           \
    typedef Unsigned U KDL_UNUSED;                                    \
    typedef Wide W KDL_UNUSED;                                        \
    enum { M = 8 * sizeof(C) - 1 };                                   \
    return (C)(expression);                                           \
  }

#define KDL_FLOATS(Name, name, arity, expression)                                            \
  KDL_DEFINE(kdl_##name##_f32, KDL_OPERANDS_##arity(float), expression, float, float, float) \
  KDL_DEFINE(kdl_##name##_f64, KDL_OPERANDS_##arity(double), expression, double, double, double)
#define KDL_SIGNED(Name, name, arity, expression)                                                  \
  KDL_DEFINE(kdl_##name##_i8, KDL_OPERANDS_##arity(int8_t), expression, int8_t, uint8_t, uint32_t) \
  KDL_DEFINE(kdl_##name##_i16, KDL_OPERANDS_##arity(int16_t), expression, int16_t, uint16_t,       \
             uint32_t)                                                                             \
  KDL_DEFINE(kdl_##name##_i32, KDL_OPERANDS_##arity(int32_t), expression, int32_t, uint32_t,       \
             uint32_t)                                                                             \
  KDL_DEFINE(kdl_##name##_i64, KDL_OPERANDS_##arity(int64_t), expression, int64_t, uint64_t,       \
             uint64_t)
#define KDL_UNSIGNED(Name, name, arity, expression)                                            \
  KDL_DEFINE(kdl_##name##_u8, KDL_OPERANDS_##arity(uint8_t), expression, uint8_t, uint8_t,     \
             uint32_t)                                                                         \
  KDL_DEFINE(kdl_##name##_u16, KDL_OPERANDS_##arity(uint16_t), expression, uint16_t, uint16_t, \
             uint32_t)                                                                         \
  KDL_DEFINE(kdl_##name##_u32, KDL_OPERANDS_##arity(uint32_t), expression, uint32_t, uint32_t, \
             uint32_t)                                                                         \
  KDL_DEFINE(kdl_##name##_u64, KDL_OPERANDS_##arity(uint64_t), expression, uint64_t, uint64_t, \
             uint64_t)
#define KDL_BOOLS(Name, name, arity, expression) \
  KDL_DEFINE(kdl_##name##_bool, KDL_OPERANDS_##arity(bool), expression, bool, bool, bool)
#define KDL_OWN_FLOATS(Name, name, arity, expression)
#define KDL_OWN_SIGNED(Name, name, arity, expression)
#define KDL_OWN_UNSIGNED(Name, name, arity, expression)
#define KDL_OWN_BOOLS(Name, name, arity, expression)
#include "kdl/scalar_ops.def"

/* ---- ops with functions of their own ---- */

/* Return floor(a / b) and a - b * floor(a / b). The divisor must not be 0; programs check it with functions
 * such as kdl_divisor_i32 in program.h. */
#define KDL_DIVISION(type, T)                                          \
  static inline T kdl_div_##type(T a, T b) {                           \
    if (b == -1) return kdl_neg_##type(a);                             \
    return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));    \
  }                                                                    \
  static inline T kdl_rem_##type(T a, T b) {                           \
    return kdl_sub_##type(a, kdl_mul_##type(b, kdl_div_##type(a, b))); \
  }
#define KDL_UNSIGNED_DIVISION(type, T)                            \
  static inline T kdl_div_##type(T a, T b) { return (T)(a / b); } \
  static inline T kdl_rem_##type(T a, T b) { return (T)(a % b); }

KDL_DIVISION(i8, int8_t)
KDL_DIVISION(i16, int16_t)
KDL_DIVISION(i32, int32_t)
KDL_DIVISION(i64, int64_t)
KDL_UNSIGNED_DIVISION(u8, uint8_t)
KDL_UNSIGNED_DIVISION(u16, uint16_t)
KDL_UNSIGNED_DIVISION(u32, uint32_t)
KDL_UNSIGNED_DIVISION(u64, uint64_t)

/* max and min propagate NaN and order -0 below 0. to_bits returns the canonical quiet NaN's bits for any
 * NaN. `s` is the suffix of the functions of <math.h>. kdl_seen hides an operand of a comparison from the
 * optimizer: LLVM turns `x < 0 ? 0 : x` into a maximum, which confuses the two zeros. */
#define KDL_FLOAT_OPS(type, T, s, int_type, I)                                 \
  static inline T kdl_max_##type(T a, T b) {                                   \
    if (isnan(a) || isnan(b)) return (T)NAN;                                   \
    if (a == b) return signbit(a) ? b : a;                                     \
    return a < b ? b : a;                                                      \
  }                                                                            \
  static inline T kdl_min_##type(T a, T b) { return -kdl_max_##type(-a, -b); } \
  static inline T kdl_fma_##type(T a, T b, T c) { return fma##s(a, b, c); }    \
  static inline T kdl_seen_##type(T a) {                                       \
    volatile T seen = a;                                                       \
    return seen;                                                               \
  }                                                                            \
  static inline I kdl_to_bits_##type(T a) {                                    \
    const T value = isnan(a) ? (T)NAN : a;                                     \
    I bits;                                                                    \
    memcpy(&bits, &value, sizeof bits);                                        \
    return bits;                                                               \
  }                                                                            \
  static inline T kdl_from_bits_##int_type(I bits) {                           \
    T value;                                                                   \
    memcpy(&value, &bits, sizeof value);                                       \
    return value;                                                              \
  }

KDL_FLOAT_OPS(f32, float, f, i32, int32_t)
KDL_FLOAT_OPS(f64, double, , i64, int64_t)

/* ---- conversions: kdl_TO_of_FROM ---- */

/* `of` is `_of_FROM`, concatenated where FROM is first named, because `bool` is a macro and would be
 * expanded later. */
#define KDL_CONVERT(to, T, of, F, value) \
  static inline T kdl_##to##of(F a) { return value; }

#define KDL_CONVERT_INTEGER(from, F)                     \
  KDL_CONVERT(bool, bool, _of_##from, F, a != 0)         \
  KDL_CONVERT(i8, int8_t, _of_##from, F, (int8_t)a)      \
  KDL_CONVERT(i16, int16_t, _of_##from, F, (int16_t)a)   \
  KDL_CONVERT(i32, int32_t, _of_##from, F, (int32_t)a)   \
  KDL_CONVERT(i64, int64_t, _of_##from, F, (int64_t)a)   \
  KDL_CONVERT(u8, uint8_t, _of_##from, F, (uint8_t)a)    \
  KDL_CONVERT(u16, uint16_t, _of_##from, F, (uint16_t)a) \
  KDL_CONVERT(u32, uint32_t, _of_##from, F, (uint32_t)a) \
  KDL_CONVERT(u64, uint64_t, _of_##from, F, (uint64_t)a) \
  KDL_CONVERT(f32, float, _of_##from, F, (float)a)       \
  KDL_CONVERT(f64, double, _of_##from, F, (double)a)

KDL_CONVERT_INTEGER(bool, bool)
KDL_CONVERT_INTEGER(i8, int8_t)
KDL_CONVERT_INTEGER(i16, int16_t)
KDL_CONVERT_INTEGER(i32, int32_t)
KDL_CONVERT_INTEGER(i64, int64_t)
KDL_CONVERT_INTEGER(u8, uint8_t)
KDL_CONVERT_INTEGER(u16, uint16_t)
KDL_CONVERT_INTEGER(u32, uint32_t)
KDL_CONVERT_INTEGER(u64, uint64_t)

/* Truncates and clamps to `least` and `most`, where `end` is `most` + 1; NaN gives 0. */
#define KDL_SATURATE(to, T, of, F, end, least, most) \
  KDL_CONVERT(to, T, of, F,                          \
              isnan(a)          ? (T)0               \
              : a >= (F)(end)   ? (T)(most)          \
              : a <= (F)(least) ? (T)(least)         \
                                : (T)a)

#define KDL_CONVERT_FLOAT(from, F)                                        \
  KDL_CONVERT(bool, bool, _of_##from, F, a != 0)                          \
  KDL_SATURATE(i8, int8_t, _of_##from, F, 0x1p7, INT8_MIN, INT8_MAX)      \
  KDL_SATURATE(i16, int16_t, _of_##from, F, 0x1p15, INT16_MIN, INT16_MAX) \
  KDL_SATURATE(i32, int32_t, _of_##from, F, 0x1p31, INT32_MIN, INT32_MAX) \
  KDL_SATURATE(i64, int64_t, _of_##from, F, 0x1p63, INT64_MIN, INT64_MAX) \
  KDL_SATURATE(u8, uint8_t, _of_##from, F, 0x1p8, 0, UINT8_MAX)           \
  KDL_SATURATE(u16, uint16_t, _of_##from, F, 0x1p16, 0, UINT16_MAX)       \
  KDL_SATURATE(u32, uint32_t, _of_##from, F, 0x1p32, 0, UINT32_MAX)       \
  KDL_SATURATE(u64, uint64_t, _of_##from, F, 0x1p64, 0, UINT64_MAX)       \
  KDL_CONVERT(f32, float, _of_##from, F, (float)a)                        \
  KDL_CONVERT(f64, double, _of_##from, F, (double)a)

KDL_CONVERT_FLOAT(f32, float)
KDL_CONVERT_FLOAT(f64, double)

/* Conversions of narrow floats from and to all other types. Conversions between two narrow floats go through
 * f32. `exact` is a double that rounds in the same way as the value. */
#define KDL_CONVERT_BOTH(narrow, N, type, T, exact)                                         \
  static inline N kdl_##narrow##_of_##type(T a) { return kdl_##narrow##_of_double(exact); } \
  static inline T kdl_##type##_of_##narrow(N a) {                                           \
    return kdl_##type##_of_f32(kdl_f32_of_##narrow(a));                                     \
  }
#define KDL_NARROW_FLOAT(Name, ID, type, code, bits, N, Cpp, width, fraction, infinities, nans, \
                         saturates, comment)                                                    \
  static inline N kdl_##type##_of_double(double a) {                                            \
    return (N)kdl_narrowed(a, width, fraction, infinities, nans, saturates);                    \
  }                                                                                             \
  static inline N kdl_##type##_of_f32(float a) { return kdl_##type##_of_double(a); }            \
  static inline float kdl_f32_of_##type(N a) {                                                  \
    return kdl_widened(a, width, fraction, infinities, nans);                                   \
  }                                                                                             \
  KDL_CONVERT_BOTH(type, N, bool, bool, a)                                                      \
  KDL_CONVERT_BOTH(type, N, i8, int8_t, a)                                                      \
  KDL_CONVERT_BOTH(type, N, i16, int16_t, a)                                                    \
  KDL_CONVERT_BOTH(type, N, i32, int32_t, a)                                                    \
  KDL_CONVERT_BOTH(type, N, i64, int64_t, kdl_sticky_i64(a))                                    \
  KDL_CONVERT_BOTH(type, N, u8, uint8_t, a)                                                     \
  KDL_CONVERT_BOTH(type, N, u16, uint16_t, a)                                                   \
  KDL_CONVERT_BOTH(type, N, u32, uint32_t, a)                                                   \
  KDL_CONVERT_BOTH(type, N, u64, uint64_t, kdl_sticky_u64(a))                                   \
  KDL_CONVERT_BOTH(type, N, f64, double, a)
#include "kdl/scalars.def"

#undef KDL_OPERANDS_1
#undef KDL_OPERANDS_2
#undef KDL_OPERANDS_3
#undef KDL_UNUSED
#undef KDL_DEFINE
#undef KDL_DIVISION
#undef KDL_UNSIGNED_DIVISION
#undef KDL_FLOAT_OPS
#undef KDL_CONVERT
#undef KDL_CONVERT_INTEGER
#undef KDL_SATURATE
#undef KDL_CONVERT_FLOAT
#undef KDL_CONVERT_BOTH
