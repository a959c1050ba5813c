/* What the operators of the language compute on scalars, to the bit, for programs on the host in C: kdl_add_i32,
 * kdl_f16_of_f32 and so on, named by the type that is computed with. Integers wrap, division floors, shift counts count modulo
 * the width, conversions of floats saturate. Comparisons are C's own; so is the arithmetic of float and double, as long as
 * the compiler is not told otherwise (-ffast-math). Narrow floats are their bits. scalar.hpp is the same for C++. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- what the rest is made of ---- */

static inline float kdl_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The bits of a format with `fraction` bits behind the point and an exponent of `width` bits; one rounding, to nearest
 * even. */
static inline uint16_t kdl_narrowed(double value, int fraction, int width) {
  const int bias = (1 << (width - 1)) - 1;
  const double magnitude = fabs(value);
  int bits = ((1 << width) - 1) << fraction; /* infinity */
  if (isnan(value)) {
    bits |= 1 << (fraction - 1);
  } else if (magnitude < ldexp(1.0, bias + 1)) {
    const int least = 1 - bias;
    const int exponent = magnitude == 0 ? least : ilogb(magnitude);
    const int scale = exponent < least ? least : exponent;
    bits = (int)nearbyint(ldexp(magnitude, fraction - scale)) + ((scale - least) << fraction);
  }
  return (uint16_t)(bits | (signbit(value) ? 1 << (fraction + width) : 0));
}

/* The bits of a float of a byte: one rounding, to nearest even, and no larger than the largest number. */
static inline uint8_t kdl_narrowed_byte(double value, int fraction, int largest) {
  const int least = 2 - (1 << (6 - fraction)); /* the exponent of the smallest normal number */
  const double magnitude = fmin(fabs(value), 0x1p20);
  const int exponent = magnitude == 0 ? least : ilogb(magnitude);
  const int scale = exponent < least ? least : exponent;
  int bits = (int)nearbyint(ldexp(magnitude, fraction - scale)) + ((scale - least) << fraction);
  if (bits > largest) bits = largest;
  if (isnan(value)) bits = 0x7f;
  return (uint8_t)(bits | (signbit(value) ? 0x80 : 0));
}

/* `largest`: the bits of its largest number, behind which there are an infinity, where it has such, and NaN. */
static inline float kdl_widened_byte(uint8_t bits, int fraction, int largest, bool has_infinity) {
  const int rest = bits & 0x7f;
  const int least = 2 - (1 << (6 - fraction)) - fraction; /* the exponent of the smallest number */
  const int exponent = rest >> fraction;
  const int units = rest - (exponent << fraction) + (exponent > 0 ? 1 << fraction : 0);
  float magnitude = ldexpf((float)units, least + (exponent > 1 ? exponent - 1 : 0));
  if (rest > largest) magnitude = has_infinity && rest == largest + 1 ? INFINITY : NAN;
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

static inline float kdl_widened_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = (float)(bits & 1023);
  float magnitude = exponent == 0 ? ldexpf(fraction, -24) : ldexpf(1024 + fraction, exponent - 25);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/* A double that rounds to fewer bits as the integer itself would: above 2^53 the low bits become one that says whether any
 * was set. */
static inline double kdl_sticky_i64(int64_t value) {
  if (fabs((double)value) < 0x1p53) return (double)value;
  return ldexp((double)((value >> 12) | ((value & 4095) != 0 ? 1 : 0)), 12);
}
static inline double kdl_sticky_u64(uint64_t value) {
  if ((double)value < 0x1p53) return (double)value;
  return ldexp((double)((value >> 12) | ((value & 4095) != 0 ? 1 : 0)), 12);
}

/* ---- integers ---- */

#define KDL_BITWISE(type, T)                                      \
  static inline T kdl_and_##type(T a, T b) { return (T)(a & b); } \
  static inline T kdl_or_##type(T a, T b) { return (T)(a | b); }  \
  static inline T kdl_xor_##type(T a, T b) { return (T)(a ^ b); }

#define KDL_INTEGER(type, T)                                                          \
  KDL_BITWISE(type, T)                                                                \
  static inline T kdl_add_##type(T a, T b) { return (T)((uint64_t)a + (uint64_t)b); } \
  static inline T kdl_sub_##type(T a, T b) { return (T)((uint64_t)a - (uint64_t)b); } \
  static inline T kdl_mul_##type(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); } \
  static inline T kdl_neg_##type(T a) { return (T)(0 - (uint64_t)a); }                \
  static inline T kdl_not_##type(T a) { return (T) ~(uint64_t)a; }                    \
  static inline T kdl_min_##type(T a, T b) { return b < a ? b : a; }                  \
  static inline T kdl_max_##type(T a, T b) { return a < b ? b : a; }                  \
  static inline T kdl_shl_##type(T a, T b) {                                          \
    return (T)((uint64_t)a << ((uint64_t)b & (sizeof(T) * 8 - 1)));                   \
  }                                                                                   \
  static inline T kdl_shr_##type(T a, T b) {                                          \
    return (T)(a >> ((uint64_t)b & (sizeof(T) * 8 - 1)));                             \
  }                                                                                   \
  static inline T kdl_rem_##type(T a, T b) {                                          \
    return kdl_sub_##type(a, kdl_mul_##type(b, kdl_div_##type(a, b)));                \
  }

/* floor(a / b); the divisor is not 0: kdl_divisor_i32 of program.h sees to that. */
#define KDL_SIGNED(type, T)                                         \
  static inline T kdl_div_##type(T a, T b) {                        \
    if (b == -1) return (T)(0 - (uint64_t)a);                       \
    return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0)); \
  }                                                                 \
  KDL_INTEGER(type, T)                                              \
  static inline T kdl_abs_##type(T a) { return a < 0 ? kdl_neg_##type(a) : a; }
#define KDL_UNSIGNED(type, T)                                     \
  static inline T kdl_div_##type(T a, T b) { return (T)(a / b); } \
  KDL_INTEGER(type, T)                                            \
  static inline T kdl_abs_##type(T a) { return a; }

KDL_SIGNED(i8, int8_t)
KDL_SIGNED(i16, int16_t)
KDL_SIGNED(i32, int32_t)
KDL_SIGNED(i64, int64_t)
KDL_UNSIGNED(u8, uint8_t)
KDL_UNSIGNED(u16, uint16_t)
KDL_UNSIGNED(u32, uint32_t)
KDL_UNSIGNED(u64, uint64_t)
KDL_BITWISE(bool, bool)
static inline bool kdl_not_bool(bool a) { return !a; }

/* ---- floats ---- */

/* Of max and min: NaN propagates; -0 is below 0. Round: to nearest, ties to even. The bits of a NaN are the canonical quiet
 * one's. `s`: what the functions of <math.h> end in. Seen: what is compared, as no compiler sees it, since LLVM takes
 * `x < 0 ? 0 : x` for a maximum and mixes up the zeros. */
#define KDL_FLOAT(type, T, s, int_type, I)                                     \
  static inline T kdl_neg_##type(T a) { return -a; }                           \
  static inline T kdl_abs_##type(T a) { return fabs##s(a); }                   \
  static inline T kdl_max_##type(T a, T b) {                                   \
    if (isnan(a) || isnan(b)) return (T)NAN;                                   \
    if (a == b) return signbit(a) ? b : a;                                     \
    return a < b ? b : a;                                                      \
  }                                                                            \
  static inline T kdl_min_##type(T a, T b) { return -kdl_max_##type(-a, -b); } \
  static inline T kdl_fma_##type(T a, T b, T c) { return fma##s(a, b, c); }    \
  static inline T kdl_floor_##type(T a) { return floor##s(a); }                \
  static inline T kdl_ceil_##type(T a) { return ceil##s(a); }                  \
  static inline T kdl_round_##type(T a) { return nearbyint##s(a); }            \
  static inline T kdl_sqrt_##type(T a) { return sqrt##s(a); }                  \
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

KDL_FLOAT(f32, float, f, i32, int32_t)
KDL_FLOAT(f64, double, , i64, int64_t)

/* ---- conversions: kdl_TO_of_FROM ---- */

/* `of`: `_of_FROM`, put together where FROM is first named: `bool`, which is a macro, is itself there only. */
#define KDL_CONVERT(to, T, of, F, value) \
  static inline T kdl_##to##of(F a) { return value; }

/* `exact`: a double that rounds as the value does. */
#define KDL_CONVERT_TO_FLOATS(of, F, exact)                              \
  KDL_CONVERT(f32, float, of, F, (float)a)                               \
  KDL_CONVERT(f64, double, of, F, (double)a)                             \
  KDL_CONVERT(f16, uint16_t, of, F, kdl_narrowed(exact, 10, 5))          \
  KDL_CONVERT(bf16, uint16_t, of, F, kdl_narrowed(exact, 7, 8))          \
  KDL_CONVERT(f8e4m3, uint8_t, of, F, kdl_narrowed_byte(exact, 3, 0x7e)) \
  KDL_CONVERT(f8e5m2, uint8_t, of, F, kdl_narrowed_byte(exact, 2, 0x7b))

#define KDL_CONVERT_INTEGER(from, F, exact)              \
  KDL_CONVERT(bool, bool, _of_##from, F, a != 0)         \
  KDL_CONVERT(i8, int8_t, _of_##from, F, (int8_t)a)      \
  KDL_CONVERT(i16, int16_t, _of_##from, F, (int16_t)a)   \
  KDL_CONVERT(i32, int32_t, _of_##from, F, (int32_t)a)   \
  KDL_CONVERT(i64, int64_t, _of_##from, F, (int64_t)a)   \
  KDL_CONVERT(u8, uint8_t, _of_##from, F, (uint8_t)a)    \
  KDL_CONVERT(u16, uint16_t, _of_##from, F, (uint16_t)a) \
  KDL_CONVERT(u32, uint32_t, _of_##from, F, (uint32_t)a) \
  KDL_CONVERT(u64, uint64_t, _of_##from, F, (uint64_t)a) \
  KDL_CONVERT_TO_FLOATS(_of_##from, F, exact)

KDL_CONVERT_INTEGER(bool, bool, (double)a)
KDL_CONVERT_INTEGER(i8, int8_t, (double)a)
KDL_CONVERT_INTEGER(i16, int16_t, (double)a)
KDL_CONVERT_INTEGER(i32, int32_t, (double)a)
KDL_CONVERT_INTEGER(i64, int64_t, kdl_sticky_i64(a))
KDL_CONVERT_INTEGER(u8, uint8_t, (double)a)
KDL_CONVERT_INTEGER(u16, uint16_t, (double)a)
KDL_CONVERT_INTEGER(u32, uint32_t, (double)a)
KDL_CONVERT_INTEGER(u64, uint64_t, kdl_sticky_u64(a))

/* Truncated, and no less than `least` and no more than `most`, behind which `end` is; NaN gives 0. */
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
  KDL_CONVERT_TO_FLOATS(_of_##from, F, (double)a)

KDL_CONVERT_FLOAT(f32, float)
KDL_CONVERT_FLOAT(f64, double)

/* Through the float that it is. */
#define KDL_CONVERT_NARROW(from, F, wide)                              \
  KDL_CONVERT(f32, float, _of_##from, F, wide)                         \
  KDL_CONVERT(f64, double, _of_##from, F, (double)(wide))              \
  KDL_CONVERT(bool, bool, _of_##from, F, kdl_bool_of_f32(wide))        \
  KDL_CONVERT(i8, int8_t, _of_##from, F, kdl_i8_of_f32(wide))          \
  KDL_CONVERT(i16, int16_t, _of_##from, F, kdl_i16_of_f32(wide))       \
  KDL_CONVERT(i32, int32_t, _of_##from, F, kdl_i32_of_f32(wide))       \
  KDL_CONVERT(i64, int64_t, _of_##from, F, kdl_i64_of_f32(wide))       \
  KDL_CONVERT(u8, uint8_t, _of_##from, F, kdl_u8_of_f32(wide))         \
  KDL_CONVERT(u16, uint16_t, _of_##from, F, kdl_u16_of_f32(wide))      \
  KDL_CONVERT(u32, uint32_t, _of_##from, F, kdl_u32_of_f32(wide))      \
  KDL_CONVERT(u64, uint64_t, _of_##from, F, kdl_u64_of_f32(wide))      \
  KDL_CONVERT(f16, uint16_t, _of_##from, F, kdl_f16_of_f32(wide))      \
  KDL_CONVERT(bf16, uint16_t, _of_##from, F, kdl_bf16_of_f32(wide))    \
  KDL_CONVERT(f8e4m3, uint8_t, _of_##from, F, kdl_f8e4m3_of_f32(wide)) \
  KDL_CONVERT(f8e5m2, uint8_t, _of_##from, F, kdl_f8e5m2_of_f32(wide))

KDL_CONVERT_NARROW(f16, uint16_t, kdl_widened_half(a))
KDL_CONVERT_NARROW(bf16, uint16_t, kdl_float_of_bits((uint32_t)a << 16))
KDL_CONVERT_NARROW(f8e4m3, uint8_t, kdl_widened_byte(a, 3, 0x7e, false))
KDL_CONVERT_NARROW(f8e5m2, uint8_t, kdl_widened_byte(a, 2, 0x7b, true))

#undef KDL_BITWISE
#undef KDL_INTEGER
#undef KDL_SIGNED
#undef KDL_UNSIGNED
#undef KDL_FLOAT
#undef KDL_CONVERT
#undef KDL_CONVERT_TO_FLOATS
#undef KDL_CONVERT_INTEGER
#undef KDL_SATURATE
#undef KDL_CONVERT_FLOAT
#undef KDL_CONVERT_NARROW
