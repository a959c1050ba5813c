// The suite's kernels for devices whose cores are workgroups; here each workgroup has one thread. clang
// compiles the kernels to PTX, and to code for clusters. KERNEL(NAME, number of values in `launch`, the
// memory of each tensor) starts a kernel, and BEGIN starts its body.
#ifdef __NVPTX__
#include "conformance/workgroup_kernels_ptx.h"
#else
#include "conformance/workgroup_kernels_cluster.h"
#endif
#define TENSOR(NAME) char* NAME##_memory
#define ELEMENTS(T, NAME, AT) T* const NAME = (T*)NAME##_memory + launch[AT]
#define CORE (block + launch[2])
#define CORES launch[0]
#define PART launch[1]
#define FOR_MINE(N) for (long n = CORE; n < (N); n += CORES)

static inline void Trap(long* record, int code, long index, long bound, long core) {
  int none = 0;
  if (!__atomic_compare_exchange_n((int*)record, &none, code, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED))
    return;
  record[1] = 0;
  record[2] = index;
  record[3] = bound;
  record[5] = core;
}

template <class T>
static inline T FromBits(long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

KERNEL(saxpy_f32, 24, TENSOR(x), TENSOR(y)) {
  BEGIN;
  ELEMENTS(const float, x, 6);
  ELEMENTS(float, y, 15);
  FOR_MINE(launch[4]) { y[n] = __builtin_fmaf(FromBits<float>(launch[5]), x[n], y[n]); }
}

KERNEL(saxpy_f64, 24, TENSOR(x), TENSOR(y)) {
  BEGIN;
  ELEMENTS(const double, x, 6);
  ELEMENTS(double, y, 15);
  FOR_MINE(launch[4]) { y[n] = __builtin_fma(FromBits<double>(launch[5]), x[n], y[n]); }
}

KERNEL(mark, 14, TENSOR(y)) {
  BEGIN;
  ELEMENTS(long, y, 5);
  if (CORE < launch[4]) y[CORE] += CORES;
}

KERNEL(row_sums, 24, TENSOR(x), TENSOR(y)) {
  BEGIN;
  ELEMENTS(const float, x, 6);
  ELEMENTS(float, y, 15);
  FOR_MINE(launch[4]) {
    float sum = 0;
    for (long c = 0; c < launch[5]; ++c) sum += x[n * launch[7] + c];
    y[n] = sum;
  }
}

KERNEL(matmul, 34, TENSOR(a), TENSOR(b), TENSOR(c)) {
  BEGIN;
  ELEMENTS(const float, a, 7);
  ELEMENTS(const float, b, 16);
  ELEMENTS(float, c, 25);
  FOR_MINE(launch[4]) {
    for (long j = 0; j < launch[6]; ++j) {
      float sum = 0;
      for (long k = 0; k < launch[5]; ++k)
        sum = __builtin_fmaf(a[n * launch[8] + k], b[k * launch[17] + j], sum);
      c[n * launch[26] + j] = sum;
    }
  }
}

KERNEL(quads, 23, TENSOR(x), TENSOR(y)) {
  BEGIN;
  ELEMENTS(const int, x, 5);
  ELEMENTS(int, y, 14);
  FOR_MINE(launch[4]) {
    const int* row = x + n * launch[6];
    y[n] = row[0] + row[1] + row[2] + row[3];
  }
}

KERNEL(halve, 24, TENSOR(x), TENSOR(y)) {
  BEGIN;
  ELEMENTS(const int, x, 6);
  ELEMENTS(int, y, 15);
  FOR_MINE(launch[5]) { y[n] = x[2 * n] + x[2 * n + 1]; }
}

KERNEL(scalars, 30, TENSOR(y)) {
  BEGIN;
  ELEMENTS(long, y, 21);
  FOR_MINE(launch[4]) { y[n] = launch[5 + n]; }
}

KERNEL(trap_at, 15, TENSOR(y)) {
  BEGIN;
  ELEMENTS(int, y, 6);
  const long at = launch[5];
  FOR_MINE(launch[4]) {
    if (n == at) return Trap(record, 1, at + launch[4], launch[4], CORE);
    ++y[n];
  }
}

KERNEL(exchange, 23, TENSOR(x), TENSOR(y)) {
  BEGIN;
  ELEMENTS(long, x, 5);
  ELEMENTS(long, y, 14);
  long* const own = (long*)(memory + CORE * 64);
  if (PART == 0) {
    FOR_MINE(launch[4]) { x[n] = CORE; }
    *own = CORE + 100;
    record[4] = 1;
    return;
  }
  FOR_MINE(launch[4]) { y[n] = x[(n + 1) % launch[4]] + *own - CORE - 100; }
}

KERNEL(endless, 14, TENSOR(x)) {
  BEGIN;
  record[4] = PART + 1;
  if (CORE == 0 && PART == 2) Trap(record, 4, 0, 0, CORE);
}

// An endless loop. Nothing stops this kernel.
KERNEL(spin, 14, TENSOR(y)) {
  BEGIN;
  ELEMENTS(volatile long, y, 5);
  while (y[0] != -1) {
  }
}

// Any core may get a number from the counter; here each number always goes to the same core.
KERNEL(dynamic_counter, 14, TENSOR(y)) {
  BEGIN;
  ELEMENTS(long, y, 5);
  FOR_MINE(launch[4]) { ++y[n]; }
}

KERNEL(scratch, 14, TENSOR(y)) {
  BEGIN;
  ELEMENTS(long, y, 5);
  long* const words = (long*)(memory + block * 1024);
  long mine = (unsigned long)words % 64 == 0;
  for (long i = 0; i < 128; ++i) words[i] = CORE * 128 + i;
  for (long i = 0; i < 128; ++i) mine = mine && words[i] == CORE * 128 + i;
  if (CORE < launch[4]) y[CORE] = mine;
}

KERNEL(print, 14, TENSOR(x)) {
  BEGIN;
  ELEMENTS(const float, x, 5);
  if (CORE != 0) return;
  const long count = 4 + 3 + launch[4] + 3;
  long at = __atomic_fetch_add(prints, count, __ATOMIC_RELAXED);
  if (at + count > prints[1]) return;
  const long head[] = {count, 0, CORE, 2, 12, 1, launch[4]};
  for (int i = 0; i < 7; ++i) prints[at++] = head[i];
  for (long i = 0; i < launch[4]; ++i) {
    int bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    prints[at++] = bits;
  }
  prints[at++] = 5;
  prints[at++] = 0;
  prints[at++] = launch[4];
}

#define TENSORS_10(D)                                                                  \
  TENSOR(x##D##0), TENSOR(x##D##1), TENSOR(x##D##2), TENSOR(x##D##3), TENSOR(x##D##4), \
      TENSOR(x##D##5), TENSOR(x##D##6), TENSOR(x##D##7), TENSOR(x##D##8), TENSOR(x##D##9)
#define MEMORIES_10(D)                                                                            \
  x##D##0_memory, x##D##1_memory, x##D##2_memory, x##D##3_memory, x##D##4_memory, x##D##5_memory, \
      x##D##6_memory, x##D##7_memory, x##D##8_memory, x##D##9_memory
KERNEL(many, 654, TENSORS_10(0), TENSORS_10(1), TENSORS_10(2), TENSORS_10(3), TENSORS_10(4),
       TENSORS_10(5), TENSORS_10(6), TENSOR(y)) {
  BEGIN;
  ELEMENTS(long, y, 645);
  char* const memories[] = {MEMORIES_10(0), MEMORIES_10(1), MEMORIES_10(2), MEMORIES_10(3),
                            MEMORIES_10(4), MEMORIES_10(5), MEMORIES_10(6)};
  FOR_MINE(launch[4]) {
    long sum = 0;
    for (long t = 0; t < 70; ++t) sum += ((const int*)memories[t] + launch[5 + 9 * t])[n];
    for (long s = 0; s < 10; ++s) sum += launch[635 + s];
    y[n] = sum;
  }
}

#ifndef __NVPTX__
ENTRY no_more = {nullptr, nullptr, 0, 0};
#endif
