/* Calls of one kernel in each way that C has, for calls.py. Each function returns the nanoseconds of a call. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "alone.source.h"
#include "axpy.h"

enum { kMostElements = 1 << 20 };
static float x[kMostElements], y[kMostElements];
static axpy_kernels* kernels;
static axpy_axpy_bound bound;

/* The parts of the TVM FFI that a call with tensors uses. */
typedef struct {
  int32_t type;
  uint32_t reserved;
  union {
    double number;
    void* pointer;
  } value;
} any;
typedef struct {
  void* data;
  int32_t device[2];
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t offset;
} dl_tensor;
int __tvm_ffi_axpy(void* self, const any* args, int32_t count, any* result);
/* What a call costs that does nothing. */
int __tvm_ffi_empty(void* self, const any* args, int32_t count, any* result) {
  (void)self, (void)args, (void)count;
  result->type = 0;
  return 0;
}
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  (void)kind;
  (void)message;
  abort();
}

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void Check(kdl_error* error) {
  if (error != NULL) abort();
}

void prepare(int64_t n) {
  Check(axpy_open(NULL, "host?threads=1", &kernels));
  Check(axpy_axpy_bind(kernels, n, 1.0f, x, y, &bound));
}

double alone(int64_t n, int64_t times) {
  double begin = Now();
  for (int64_t i = 0; i < times; ++i) {
    if (alone_axpy(n, 1.0f, x, y) != NULL) abort();
  }
  return (Now() - begin) / (double)times;
}

double from_c(int64_t n, int64_t times) {
  double begin = Now();
  for (int64_t i = 0; i < times; ++i) Check(axpy_axpy(kernels, n, 1.0f, x, y));
  return (Now() - begin) / (double)times;
}

double from_c_bound(int64_t n, int64_t times) {
  (void)n;
  double begin = Now();
  for (int64_t i = 0; i < times; ++i) Check(axpy_axpy_call(&bound));
  return (Now() - begin) / (double)times;
}

double by_ffi(int64_t n, int64_t times) {
  dl_tensor tensors[2] = {{x, {1, 0}, 1, 2, 32, 1, &n, NULL, 0},
                          {y, {1, 0}, 1, 2, 32, 1, &n, NULL, 0}};
  any args[3] = {
      {3, 0, {.number = 1.0}}, {7, 0, {.pointer = &tensors[0]}}, {7, 0, {.pointer = &tensors[1]}}};
  any result = {0, 0, {0}};
  double begin = Now();
  for (int64_t i = 0; i < times; ++i) {
    if (__tvm_ffi_axpy(NULL, args, 3, &result) != 0) abort();
  }
  return (Now() - begin) / (double)times;
}

/* What a binding by hand calls: no checks but those of the kernel. */
int axpy_by_hand(int64_t n, float a, const float* from, float* to) {
  return alone_axpy(n, a, from, to) != NULL;
}
