#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "codegen/opencl/writer.h"
#include "support/scalar.h"

// Functions that OpenCL C lacks, or that it defines only up to a rounding error. Each returns exactly the
// same bits as the corresponding KIR op (ir/eval/eval.cpp).

namespace kdl::codegen::opencl {

namespace {

constexpr std::string_view kFunctions = R"(#pragma OPENCL FP_CONTRACT OFF
// Extensions that a device does not have are left out, and so are the kernels that need them.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif

// On a GPU, the threads of a workgroup run the kernel at the same time. PoCL instead splits the kernel at its barriers, and runs
// each part in a loop over the threads. PoCL 3.1 does so wrongly if barriers are in branches and loops (it loses conditions), and
// its time grows exponentially with the number of barriers. On PoCL, a workgroup therefore has a single thread, and the kernel
// contains the loops: KDL_ALL_THREADS and KDL_THREADS_BELOW set kdl_thread to the number of each thread. Outside of these loops,
// all threads would do the same. So there are no barriers, and a variable of which each thread has its own becomes an array.
#if defined(POCL_DEVICE_ADDRESS_BITS) && !defined(KDL_WORKGROUPS)
#define KDL_WORKGROUP(N) 1
#define KDL_THREADS_BELOW(N) for (long kdl_thread = 0; kdl_thread < (N); ++kdl_thread)
#define KDL_ALL_THREADS KDL_THREADS_BELOW(KDL_WORKERS)
#define KDL_BARRIER
#define KDL_COPIES(N) ((N) * KDL_WORKERS)
#define KDL_COPY(N) (kdl_thread * (N))
#else
#define KDL_WORKGROUP(N) N
#define KDL_THREADS_BELOW(N) if (kdl_thread < (N))
#define KDL_ALL_THREADS
#define KDL_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define KDL_COPIES(N) (N)
#define KDL_COPY(N) 0
#endif

#ifndef KDL_ZERO
#define KDL_ZERO(T) ((T)0)
#endif

// The number of iterations of a loop from lo, whose index after the last iteration may overflow. If the step is not above 0, the
// thread has trapped.
static inline ulong kdl_iterations(long lo, long hi, long step) {
  return lo < hi && step > 0 ? ((ulong)hi - (ulong)lo - 1) / (ulong)step + 1 : 0;
}

// Hides the operand of a comparison from the optimizer: LLVM turns `x < 0 ? 0 : x` into a maximum, which confuses the zeros. A
// launch has at least one core, so KDL_NOTHING is 0 and the bits do not change.
#define KDL_NOTHING ((uint)((ulong)kdl_cores >> 63))
#define KDL_SEEN_f32(a) as_float(as_uint(a) ^ KDL_NOTHING)
#define KDL_SEEN_f64(a) as_double(as_ulong(a) ^ KDL_NOTHING)

// LLVM 15, which PoCL 3.1 uses, fails on masked loads whose values are used both as integers and as floats. This is not an exclusive or,
// because that of KDL_SEEN would cancel it.
#if defined(POCL_DEVICE_ADDRESS_BITS) && defined(__AVX512F__)
#define KDL_LOADED_f32(a) as_float(as_uint(a) | KDL_NOTHING)
#define KDL_LOADED_f64(a) as_double(as_ulong(a) | KDL_NOTHING)
#else
#define KDL_LOADED_f32(a) a
#define KDL_LOADED_f64(a) a
#endif

// PoCL assumes that the operands of these functions are not NaN.
#ifdef POCL_DEVICE_ADDRESS_BITS
#define KDL_OF_NAN(NAME, F, T) \
  static inline T __attribute__((overloadable)) NAME(T a) { return a != a ? a : F(a); }
#ifdef cl_khr_fp64
#define KDL_OF_NANS(NAME, F) KDL_OF_NAN(NAME, F, float) KDL_OF_NAN(NAME, F, double)
#else
#define KDL_OF_NANS(NAME, F) KDL_OF_NAN(NAME, F, float)
#endif
KDL_OF_NANS(kdl_floor, floor)
KDL_OF_NANS(kdl_ceil, ceil)
KDL_OF_NANS(kdl_rint, rint)
KDL_OF_NANS(kdl_trunc, trunc)
#undef floor
#undef ceil
#undef rint
#undef trunc
#define floor kdl_floor
#define ceil kdl_ceil
#define rint kdl_rint
#define trunc kdl_trunc
#endif

// Integer division rounds towards minus infinity. If the divisor is 0, the thread has trapped.
#define KDL_DIVISION(S, T)                                   \
  static inline T kdl_div_##S(T a, T b) {                    \
    if (b == 0) return 0;                                    \
    if (b == -1) return (T)(0 - (ulong)a);                   \
    T q = a / b;                                             \
    return q * b != a && ((a < 0) != (b < 0)) ? q - 1 : q;   \
  }                                                          \
  static inline T kdl_rem_##S(T a, T b) {                    \
    if (b == 0 || b == -1) return 0;                         \
    T r = a % b;                                             \
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;       \
  }
KDL_DIVISION(i8, char)
KDL_DIVISION(i16, short)
KDL_DIVISION(i32, int)
KDL_DIVISION(i64, long)

// NaN if an operand is NaN; -0 is less than +0.
#define KDL_MINMAX(S, T)                                     \
  static inline T kdl_min_##S(T a, T b) {                    \
    if (a != a) return a;                                    \
    if (b != b) return b;                                    \
    return a < b || (a == b && signbit(a)) ? a : b;          \
  }                                                          \
  static inline T kdl_max_##S(T a, T b) {                    \
    if (a != a) return a;                                    \
    if (b != b) return b;                                    \
    return a > b || (a == b && !signbit(a)) ? a : b;         \
  }
KDL_MINMAX(f32, float)
#ifdef cl_khr_fp64
KDL_MINMAX(f64, double)
#endif

static inline float kdl_flush(float a) { return fabs(a) < 0x1p-126f ? copysign(0.0f, a) : a; }
// Rounds to 10 bits of mantissa, ties to even.
static inline float kdl_tf32(float a) {
  uint bits = as_uint(a);
  uint rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
  return (bits & 0x7f800000u) != 0x7f800000u ? as_float(rounded) : a;
}
// Flushes a * b + c to zero if the result, rounded with an unbounded exponent range, is less than the least normal number. To find
// out, it is computed scaled by 2^32.
static inline float kdl_fma_flush(float a, float b, float c) {
  float large = fma(a * 0x1p32f, b, c * 0x1p32f);
  float sum = fma(a, b, c);
  return fabs(large) < 0x1p-94f ? copysign(0.0f, sum) : sum;
}

static inline int kdl_bits_f32(float a) { return a != a ? 0x7fc00000 : as_int(a); }
#ifdef cl_khr_fp64
static inline long kdl_bits_f64(double a) { return a != a ? 0x7ff8000000000000l : as_long(a); }
#endif

// Conversions of floats to integers truncate and saturate; NaN becomes 0.
#define KDL_SATURATE(S, T, F, LEAST, MOST, BELOW, ABOVE)     \
  static inline T kdl_##S(F a) {                             \
    if (a != a) return 0;                                    \
    if (a >= ABOVE) return MOST;                             \
    if (a <= BELOW) return LEAST;                            \
    return (T)a;                                             \
  }
#ifdef cl_khr_fp64
#define KDL_SATURATES(S, T, LEAST, MOST, BELOW, ABOVE)       \
  KDL_SATURATE(S##_of_f32, T, float, LEAST, MOST, BELOW##f, ABOVE##f) \
  KDL_SATURATE(S##_of_f64, T, double, LEAST, MOST, BELOW, ABOVE)
#else
#define KDL_SATURATES(S, T, LEAST, MOST, BELOW, ABOVE)       \
  KDL_SATURATE(S##_of_f32, T, float, LEAST, MOST, BELOW##f, ABOVE##f)
#endif
KDL_SATURATES(i8, char, CHAR_MIN, CHAR_MAX, -0x1p7, 0x1p7)
KDL_SATURATES(i16, short, SHRT_MIN, SHRT_MAX, -0x1p15, 0x1p15)
KDL_SATURATES(i32, int, INT_MIN, INT_MAX, -0x1p31, 0x1p31)
KDL_SATURATES(i64, long, LONG_MIN, LONG_MAX, -0x1p63, 0x1p63)
KDL_SATURATES(u8, uchar, 0, UCHAR_MAX, 0x0p0, 0x1p8)
KDL_SATURATES(u16, ushort, 0, USHRT_MAX, 0x0p0, 0x1p16)
KDL_SATURATES(u32, uint, 0, UINT_MAX, 0x0p0, 0x1p32)
KDL_SATURATES(u64, ulong, 0, ULONG_MAX, 0x0p0, 0x1p64)

static inline float kdl_f32_of_bf16(ushort a) { return as_float((uint)a << 16); }
static inline ushort kdl_bf16_of_f32(float a) {
  uint bits = as_uint(a);
  if (a != a) return (ushort)((bits >> 16) | 0x40);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
static inline float kdl_f32_of_f16(ushort a) {
  uint sign = (uint)(a & 0x8000) << 16;
  uint rest = a & 0x7fff;
  if (rest >= 0x7c00) return as_float(sign | 0x7f800000 | (rest << 13) | (rest > 0x7c00 ? 0x400000 : 0));
  if (rest >= 0x0400) return as_float(sign | ((rest << 13) + 0x38000000));
  float value = (float)rest * 0x1p-24f;
  return sign ? -value : value;
}
static inline ushort kdl_f16_of_f32(float a) {
  uint bits = as_uint(a);
  ushort sign = (ushort)((bits >> 16) & 0x8000);
  uint rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (ushort)(sign | 0x7e00 | ((rest >> 13) & 0x3ff));
  if (rest >= 0x47800000) return (ushort)(sign | 0x7c00);
  if (rest >= 0x38800000) {
    rest += 0xfff + ((rest >> 13) & 1);
    return (ushort)(sign | ((rest - 0x38000000) >> 13));
  }
  return (ushort)(sign | (ushort)rint(fabs(a) * 0x1p24f));
}
// Floats of 8 bits: B bits of fraction, exponent bias E, the bits of the largest number, and those of infinity or NaN. Adding MAGIC,
// whose unit in the last place is the smallest number, rounds subnormal numbers.
#define KDL_BYTE_FLOAT(S, B, E, LARGEST, INFINITE, LEAST, MAGIC)     \
  static inline float kdl_f32_of_##S(uchar a) {              \
    uint sign = (uint)(a & 0x80) << 24;                      \
    uint rest = a & 0x7f;                                    \
    if (rest > LARGEST) return as_float(sign | (rest == INFINITE ? 0x7f800000 : 0x7fc00000)); \
    if (rest >> B) return as_float(sign | ((rest << (23 - B)) + ((127 - E) << 23))); \
    return as_float(sign | as_uint((float)rest * LEAST));    \
  }                                                          \
  static inline uchar kdl_##S##_of_f32(float a) {            \
    uint bits = as_uint(a);                                  \
    uint sign = (bits >> 24) & 0x80;                         \
    uint rest = bits & 0x7fffffff;                           \
    if (rest > 0x7f800000) return (uchar)(sign | 0x7f);      \
    uint few = as_uint(as_float(rest) + MAGIC) - as_uint(MAGIC); \
    uint many = (rest + ((1 << (22 - B)) - 1) + ((rest >> (23 - B)) & 1) - ((127 - E) << 23)) >> (23 - B); \
    return (uchar)(sign | min(rest < ((128 - E) << 23) ? few : many, (uint)LARGEST)); \
  }
// Powers of two with the exponents of f32. Below the normal numbers of f32, the fraction of 2^-127 is one half.
static inline float kdl_f32_of_f8e8m0(uchar a) {
  return as_float(a == 0xff ? 0x7fc00000u : a == 0 ? 0x400000u : (uint)a << 23);
}
static inline uchar kdl_f8e8m0_of_f32(float a) {
  uint bits = as_uint(a);
  if (bits == 0x80000000) return 0;
  if (bits > 0x7f800000) return 0xff;
  uint normal = (bits + 0x3fffff + ((bits >> 23) & 1)) >> 23;
  return (uchar)(bits < 0x800000 ? bits > 0x600000 : min(normal, (uint)0xfe));
}
)";

constexpr std::string_view kRest =
    R"(// Round to odd: truncates to f32 and sets the last bit if that was not exact. A second rounding, to fewer digits, then gives the
// same result as a single one.
#ifdef cl_khr_fp64
static inline float kdl_odd_f32(double a) {
  if (a != a || a == 0.0) return (float)a;
  float near = (float)a;
  if (fabs((double)near) > fabs(a)) near = as_float(as_uint(near) - 1);
  return (double)near == a ? near : as_float(as_uint(near) | 1);
}
static inline double kdl_odd_u64(ulong a) {
  return a >> 53 ? (double)((a >> 12) | ((a & 0xfff) != 0)) * 0x1p12 : (double)a;
}
static inline double kdl_odd_i64(long a) {
  return a < 0 ? -kdl_odd_u64(0 - (ulong)a) : kdl_odd_u64((ulong)a);
}
#endif

// Reserves `count` numbers in the print buffer, whose first two numbers are the next free position and the size. Returns the
// position, or 0 if there is not enough space.
#ifdef cl_khr_int64_base_atomics
static long kdl_take(__global long* prints, long count) {
  long at = atom_add((volatile __global long*)prints, count);
  return at + count <= prints[1] ? at : 0;
}
#endif

// Records what happened, where and in which thread. Only the first trap of a launch is recorded.
static void kdl_trap(__global long* record, int code, int location, long index, long bound, long core,
                     long worker) {
  if (atomic_cmpxchg((volatile __global int*)record, 0, code) != 0) return;
  record[1] = location;
  record[2] = index;
  record[3] = bound;
  record[5] = core;
  record[6] = worker;
}
)";

consteval bool AllHaveFunctions() {
  return std::ranges::all_of(kScalars, [](const ScalarInfo& info) {
    bool has_functions =
        info.scalar == Scalar::F16 || info.scalar == Scalar::BF16 || info.scalar == Scalar::F8E8M0;
    const FloatFormat& format = info.format;
    bool fills_byte = info.bits == 8 && format.exponent + format.fraction == 7;
    return !IsNarrowFloat(info.scalar) || has_functions ||
           (fills_byte && format.has_nan && format.saturates);
  });
}
static_assert(AllHaveFunctions(), "KDL_BYTE_FLOAT is for whole bytes with NaNs that saturate");

/// Returns a use of KDL_BYTE_FLOAT for each 8-bit float type.
std::string ByteFloats() {
  std::string rows;
  for (const ScalarInfo& info : kScalars) {
    if (!IsByteFactor(info.scalar)) continue;
    const FloatFormat& format = info.format;
    int least = format.least_exponent() - format.fraction;  // exponent of the smallest number
    rows += fmt::format("KDL_BYTE_FLOAT({}, {}, {}, {:#x}, {:#x}, 0x1p{}f, 0x1p{}f)\n",
                        info.spelling, format.fraction, format.bias(), format.largest(),
                        format.has_infinity ? format.infinity() : format.sign(), least,
                        least + Info(Scalar::F32).format.fraction);
  }
  return rows;
}

}  // namespace

std::string_view Prelude() {
  static const std::string kPrelude = fmt::format("{}{}{}", kFunctions, ByteFloats(), kRest);
  return kPrelude;
}

}  // namespace kdl::codegen::opencl
