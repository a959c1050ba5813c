#include <string>

#include "codegen/cluster/c_text.h"
#include "kdl/cluster_abi.hpp"

namespace kdl::codegen::cluster {

namespace {

#define KDL_C_FIELD(type, name) "  " #type " " #name ";\n"

constexpr const char* kTypes = R"(#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define cl_khr_fp64 1
#define cl_khr_int64_base_atomics 1

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "kernels need IEEE 754 floats: compile them without -ffast-math and the options that it implies"
#endif

_Static_assert(sizeof(long) == 8 && sizeof(int) == 4, "long must have 64 bits, and int 32");

typedef struct kdl_cluster_worker kdl_cluster_worker;
typedef uint32_t kdl_cluster_wait(kdl_cluster_worker* worker, uint32_t told);
typedef void kdl_cluster_copy(kdl_cluster_worker* worker, char* to, const char* from, uint64_t row_bytes,
                              uint64_t rows, int64_t to_stride, int64_t from_stride);
typedef void kdl_cluster_await(kdl_cluster_worker* worker, const char* scratchpad, uint64_t bytes);
typedef void kdl_cluster_kernel(const int64_t* numbers, const int64_t* memories, kdl_cluster_worker* worker);
struct kdl_cluster_worker {
)" KDL_CLUSTER_WORKER(KDL_C_FIELD) "};\ntypedef struct {\n" KDL_CLUSTER_ENTRY(
    KDL_C_FIELD) "} kdl_cluster_entry;\n";

constexpr const char* kWords = R"(
#define KDL_AT(n) ((uchar*)(kdl_at->memory + kdl_memories[n]))
#define KDL_ZERO(T) ((T){0})
#define __global
#define __constant static const

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define KDL_BITS(NAME, TO, FROM)                                                   \
  static inline TO NAME(FROM from) {                                               \
    union { FROM from; TO to; } bits = {from};                                     \
    return bits.to;                                                                \
  }
KDL_BITS(as_float, float, uint)
KDL_BITS(as_int, int, float)
KDL_BITS(as_uint, uint, float)
KDL_BITS(as_double, double, ulong)
KDL_BITS(as_long, long, double)
KDL_BITS(as_ulong, ulong, double)
#define as_ushort(a) ((ushort)(a))

// Rounds to integers. All floats above 1 / epsilon are integers.
#define KDL_ROUNDS(S, T, ABS, COPYSIGN, WHOLE)                                     \
  static inline T kdl_rint_##S(T a) {                                              \
    if (!(ABS(a) < WHOLE)) return a;                                               \
    const T large = COPYSIGN(WHOLE, a);                                            \
    return COPYSIGN((a + large) - large, a);                                       \
  }                                                                                \
  static inline T kdl_floor_##S(T a) {                                             \
    const T near = kdl_rint_##S(a);                                                \
    return near > a ? COPYSIGN(near - 1, a) : near;                                \
  }                                                                                \
  static inline T kdl_ceil_##S(T a) {                                              \
    const T near = kdl_rint_##S(a);                                                \
    return near < a ? COPYSIGN(near + 1, a) : near;                                \
  }
KDL_ROUNDS(f32, float, __builtin_fabsf, __builtin_copysignf, 0x1p23f)
KDL_ROUNDS(f64, double, __builtin_fabs, __builtin_copysign, 0x1p52)

#define KDL_OF(F32, F64, a) _Generic((a), float: F32, default: F64)
#define fma(a, b, c) KDL_OF(__builtin_fmaf, __builtin_fma, a)(a, b, c)
#define sqrt(a) KDL_OF(__builtin_sqrtf, __builtin_sqrt, a)(a)
#define fabs(a) KDL_OF(__builtin_fabsf, __builtin_fabs, a)(a)
#define copysign(a, b) KDL_OF(__builtin_copysignf, __builtin_copysign, a)(a, b)
#define signbit(a) (KDL_OF(__builtin_signbitf, __builtin_signbit, a)(a) != 0)
#define rint(a) KDL_OF(kdl_rint_f32, kdl_rint_f64, a)(a)
#define floor(a) KDL_OF(kdl_floor_f32, kdl_floor_f64, a)(a)
#define ceil(a) KDL_OF(kdl_ceil_f32, kdl_ceil_f64, a)(a)
static inline long min(long a, long b) { return a < b ? a : b; }

// Vectors of contiguous elements, which kernels split into halves.
#define KDL_VECTORS(NAME, T)                                                       \
  typedef struct { T lo, hi; } NAME##2;                                            \
  typedef struct { NAME##2 lo, hi; } NAME##4;                                      \
  typedef struct { NAME##4 lo, hi; } NAME##8;                                      \
  typedef struct { NAME##8 lo, hi; } NAME##16;                                     \
  KDL_VLOAD(NAME, T, 2)                                                            \
  KDL_VLOAD(NAME, T, 4)                                                            \
  KDL_VLOAD(NAME, T, 8)                                                            \
  KDL_VLOAD(NAME, T, 16)
#define KDL_VLOAD(NAME, T, N)                                                      \
  static inline NAME##N kdl_vload_##NAME##N(const T* from) {                       \
    NAME##N vector;                                                                \
    __builtin_memcpy(&vector, from, sizeof vector);                                \
    return vector;                                                                 \
  }
KDL_VECTORS(char, signed char)
KDL_VECTORS(uchar, uchar)
KDL_VECTORS(short, short)
KDL_VECTORS(ushort, ushort)
KDL_VECTORS(int, int)
KDL_VECTORS(uint, uint)
KDL_VECTORS(long, long)
KDL_VECTORS(ulong, ulong)
KDL_VECTORS(float, float)
KDL_VECTORS(double, double)
#define KDL_VLOAD_OF(N, from)                                                      \
  _Generic(*(from), signed char: kdl_vload_char##N, uchar: kdl_vload_uchar##N,     \
           short: kdl_vload_short##N, ushort: kdl_vload_ushort##N,                 \
           int: kdl_vload_int##N, uint: kdl_vload_uint##N, long: kdl_vload_long##N, \
           ulong: kdl_vload_ulong##N, float: kdl_vload_float##N, double: kdl_vload_double##N)(from)
#define vload2(zero, from) KDL_VLOAD_OF(2, from)
#define vload4(zero, from) KDL_VLOAD_OF(4, from)
#define vload8(zero, from) KDL_VLOAD_OF(8, from)
#define vload16(zero, from) KDL_VLOAD_OF(16, from)

// On some machines, char is unsigned.
#define char signed char
#undef CHAR_MIN
#undef CHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX

// Atomic updates. Only a compare-and-swap needs the previous value.
#define KDL_SWAPS(at, was, to) \
  __atomic_compare_exchange_n(at, was, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define KDL_CMPXCHG(at, was, to)                                                   \
  ({                                                                               \
    __typeof__(*(at) + 0) kdl_found = (was);                                       \
    (void)KDL_SWAPS(at, &kdl_found, to);                                           \
    kdl_found;                                                                     \
  })
#define KDL_TO(at, value, KEEPS)                                                   \
  do {                                                                             \
    __typeof__(*(at) + 0) kdl_found = *(at);                                       \
    while (!(kdl_found KEEPS (value)) && !KDL_SWAPS(at, &kdl_found, value)) {      \
    }                                                                              \
  } while (0)
#define KDL_FETCH(how, at, value) ((void)__atomic_##how(at, value, __ATOMIC_RELAXED))
#define KDL_ADDED(at, value) __atomic_fetch_add(at, value, __ATOMIC_RELAXED)
#define atomic_add(at, value) KDL_ADDED(at, value)
#define atomic_and(at, value) KDL_FETCH(fetch_and, at, value)
#define atomic_or(at, value) KDL_FETCH(fetch_or, at, value)
#define atomic_xor(at, value) KDL_FETCH(fetch_xor, at, value)
#define atomic_xchg(at, value) KDL_FETCH(exchange_n, at, value)
#define atomic_max(at, value) KDL_TO(at, value, >=)
#define atomic_min(at, value) KDL_TO(at, value, <=)
#define atomic_cmpxchg(at, was, to) KDL_CMPXCHG(at, was, to)
#define atom_add(at, value) KDL_ADDED(at, value)
#define atom_and(at, value) KDL_FETCH(fetch_and, at, value)
#define atom_or(at, value) KDL_FETCH(fetch_or, at, value)
#define atom_xor(at, value) KDL_FETCH(fetch_xor, at, value)
#define atom_xchg(at, value) KDL_FETCH(exchange_n, at, value)
#define atom_max(at, value) KDL_TO(at, value, >=)
#define atom_min(at, value) KDL_TO(at, value, <=)
#define atom_cmpxchg(at, was, to) KDL_CMPXCHG(at, was, to)

)";

}  // namespace

std::string_view CPrelude() {
  static const std::string kPrelude = std::string(kTypes) + kWords;
  return kPrelude;
}

}  // namespace kdl::codegen::cluster
