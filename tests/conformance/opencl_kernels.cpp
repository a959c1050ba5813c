// The suite's kernels in OpenCL C, with the interface of kdl/workgroup_abi.h: a core is a workgroup of one thread.
#include "conformance/opencl_kernels.h"

#include <string>

#include "conformance/workgroup_image.h"

namespace kdl::conformance {

namespace {

constexpr const char* kText = R"(
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define KERNEL(NAME, ...)                                                                      \
  __kernel __attribute__((reqd_work_group_size(1, 1, 1)))                                      \
  void NAME(__global const long* launch, __global uchar* memory, __global uchar* shared,       \
            __global long* record, __global long* prints, __VA_ARGS__)
#define TENSOR(NAME) __global uchar* NAME
#define ELEMENTS(T, NAME, AT) __global T* const NAME = (__global T*)NAME##_memory + launch[AT]
#define CORE (get_group_id(0) + launch[2])
#define CORES launch[0]
#define PART launch[1]
#define FOR_MINE(N) for (long n = CORE; n < (N); n += CORES)

void trap(__global long* record, int code, long index, long bound, long core) {
  if (atomic_cmpxchg((volatile __global int*)record, 0, code) != 0) return;
  record[1] = 0;
  record[2] = index;
  record[3] = bound;
  record[5] = core;
}

#define SAXPY(NAME, T, FROM)                                       \
  KERNEL(NAME, TENSOR(x_memory), TENSOR(y_memory)) {               \
    ELEMENTS(T, x, 6);                                             \
    ELEMENTS(T, y, 15);                                            \
    FOR_MINE(launch[4]) { y[n] = fma(FROM, x[n], y[n]); }          \
  }
SAXPY(saxpy_f32, float, as_float((int)launch[5]))
SAXPY(saxpy_f64, double, as_double(launch[5]))

KERNEL(mark, TENSOR(y_memory)) {
  ELEMENTS(long, y, 5);
  if (CORE < launch[4]) y[CORE] += CORES;
}

KERNEL(row_sums, TENSOR(x_memory), TENSOR(y_memory)) {
  ELEMENTS(const float, x, 6);
  ELEMENTS(float, y, 15);
  FOR_MINE(launch[4]) {
    float sum = 0;
    for (long c = 0; c < launch[5]; ++c) sum += x[n * launch[7] + c];
    y[n] = sum;
  }
}

KERNEL(matmul, TENSOR(a_memory), TENSOR(b_memory), TENSOR(c_memory)) {
  ELEMENTS(const float, a, 7);
  ELEMENTS(const float, b, 16);
  ELEMENTS(float, c, 25);
  FOR_MINE(launch[4]) {
    for (long j = 0; j < launch[6]; ++j) {
      float sum = 0;
      for (long k = 0; k < launch[5]; ++k)
        sum = fma(a[n * launch[8] + k], b[k * launch[17] + j], sum);
      c[n * launch[26] + j] = sum;
    }
  }
}

KERNEL(quads, TENSOR(x_memory), TENSOR(y_memory)) {
  ELEMENTS(const int, x, 5);
  ELEMENTS(int, y, 14);
  FOR_MINE(launch[4]) {
    __global const int* row = x + n * launch[6];
    y[n] = row[0] + row[1] + row[2] + row[3];
  }
}

KERNEL(halve, TENSOR(x_memory), TENSOR(y_memory)) {
  ELEMENTS(const int, x, 6);
  ELEMENTS(int, y, 15);
  FOR_MINE(launch[5]) { y[n] = x[2 * n] + x[2 * n + 1]; }
}

KERNEL(scalars, TENSOR(y_memory)) {
  ELEMENTS(long, y, 21);
  FOR_MINE(launch[4]) { y[n] = launch[5 + n]; }
}

KERNEL(trap_at, TENSOR(y_memory)) {
  ELEMENTS(int, y, 6);
  const long at = launch[5];
  FOR_MINE(launch[4]) {
    if (n == at) {
      trap(record, 1, at + launch[4], launch[4], CORE);
      return;
    }
    ++y[n];
  }
}

KERNEL(exchange, TENSOR(x_memory), TENSOR(y_memory)) {
  ELEMENTS(long, x, 5);
  ELEMENTS(long, y, 14);
  __global long* const own = (__global long*)(memory + CORE * 64);
  if (PART == 0) {
    FOR_MINE(launch[4]) { x[n] = CORE; }
    *own = CORE + 100;
    record[4] = 1;
    return;
  }
  FOR_MINE(launch[4]) { y[n] = x[(n + 1) % launch[4]] + *own - CORE - 100; }
}

KERNEL(endless, TENSOR(x_memory)) {
  record[4] = PART + 1;
  if (CORE == 0 && PART == 2) trap(record, 4, 0, 0, CORE);
}

// An endless loop. Nothing stops this kernel.
KERNEL(spin, TENSOR(y_memory)) {
  ELEMENTS(volatile long, y, 5);
  while (y[0] != -1) {}
}

// Any core may get a number from the counter; here each number always goes to the same core.
KERNEL(dynamic_counter, TENSOR(y_memory)) {
  ELEMENTS(long, y, 5);
  FOR_MINE(launch[4]) { ++y[n]; }
}

KERNEL(scratch, TENSOR(y_memory)) {
  ELEMENTS(long, y, 5);
  __global long* const words = (__global long*)(memory + get_group_id(0) * 1024);
  long mine = (ulong)words % 64 == 0;
  for (long i = 0; i < 128; ++i) words[i] = CORE * 128 + i;
  for (long i = 0; i < 128; ++i) mine = mine && words[i] == CORE * 128 + i;
  if (CORE < launch[4]) y[CORE] = mine;
}

KERNEL(print, TENSOR(x_memory)) {
  ELEMENTS(const float, x, 5);
  if (CORE != 0) return;
  const long count = 4 + 3 + launch[4] + 3;
  long at = atom_add((volatile __global long*)prints, count);
  if (at + count > prints[1]) return;
  prints[at++] = count;
  prints[at++] = 0;
  prints[at++] = CORE;
  prints[at++] = 2;
  prints[at++] = 12;
  prints[at++] = 1;
  prints[at++] = launch[4];
  for (long i = 0; i < launch[4]; ++i) prints[at++] = as_int(x[i]);
  prints[at++] = 5;
  prints[at++] = 0;
  prints[at++] = launch[4];
}
)";

constexpr int kManyTensors = 70;
constexpr int kManyScalars = 10;

// many(x0 … x69, s0 … s9, y), with an argument for each tensor.
std::string Many() {
  std::string text = "\nKERNEL(many";
  for (int t = 0; t < kManyTensors; ++t) text += ", TENSOR(x" + std::to_string(t) + "_memory)";
  text += ", TENSOR(y_memory)) {\n";
  int at = 5;
  for (int t = 0; t < kManyTensors; ++t, at += 9)
    text += "  ELEMENTS(const int, x" + std::to_string(t) + ", " + std::to_string(at) + ");\n";
  const int scalars = at;
  text += "  ELEMENTS(long, y, " + std::to_string(scalars + kManyScalars) + ");\n";
  text += "  FOR_MINE(launch[4]) {\n    long sum = 0;\n";
  for (int t = 0; t < kManyTensors; ++t) text += "    sum += x" + std::to_string(t) + "[n];\n";
  text += "    for (int s = 0; s < " + std::to_string(kManyScalars) + "; ++s) sum += launch[" +
          std::to_string(scalars) + " + s];\n    y[n] = sum;\n  }\n}\n";
  return text;
}

}  // namespace

const kdl_image* const* OpenclImages() {
  static const WorkgroupImage kImage("opencl", kText + Many());
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  return kAll;
}

}  // namespace kdl::conformance
