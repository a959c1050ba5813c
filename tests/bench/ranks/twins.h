// Programs over ranks, written by hand with MPI (twins.c).
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TWIN_BINS 64

// Computes y from a matrix with m rows and n columns. All processes call it with the same arguments.
typedef void twin_function(const float* x, void* y, int64_t m, int64_t n, int64_t steps);

typedef struct twin {
  const char* name;
  twin_function* run;
} twin;

// Returns a function, or NULL. Its kernels run on the device.
twin_function* find_twin(const char* name, const char* device);

#ifdef __cplusplus
}
#endif
