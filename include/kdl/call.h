/* The device runtime's C interface, third part: kernels that are called with pointers to the caller's memory, as
 * functions are. Included by runtime.h, whose conventions hold here. NAME.h declares, over these, a function for
 * each kernel. */
#pragma once

#include "kdl/queue.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Kernels on one device, looked up once. Calls may come from any threads, also at once. */
typedef struct kdl_kernels kdl_kernels;

/* Opens `count` kernels, named as for kdl_context_find_kernel, on the device of a spec, "host?threads=4". They are those of
 * `images`, an array that NULL ends, which are made known to the context. `context`: NULL for one that the handle has for
 * itself. */
kdl_error* kdl_kernels_open(kdl_context* context, const kdl_image* const* images,
                            const char* device, const char* const* names, int32_t count,
                            kdl_kernels** kernels);

/* Ends them, once no call of them runs any more; nothing else can be done with them when the context has gone. NULL is
 * allowed. */
void kdl_kernels_close(kdl_kernels* kernels);

/* The argument for a parameter. A tensor's elements lie in the process's memory, row-major without gaps, at an address
 * that is a multiple of an element's bytes, NULL only where there are none. A kernel writes those of `out` and
 * `inout`, which share no byte with another parameter's. */
typedef union kdl_value {
  const void* data; /* of a tensor */
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8; /* and of a bool */
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  /* clang-format off */
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, bits, ctype, ...) ctype spelling; /* its bits */
/* clang-format on */
#include "kdl/scalars.def"
  float f32;
  double f64;
} kdl_value;

/* Calls the kernel of that number, on as many cores as the device holds, and returns when it is over, with what it failed
 * of. `sizes`: of every dimension of every tensor parameter, in their order; `values`: of every parameter. The checks are
 * those of kdl_launch_kernel, before any effect. On `host` the calling thread works and the device's workers help; calls
 * at once do not wait for each other but for the workers, nor for what queues hold. Elsewhere memory is copied to the
 * device and back. */
kdl_error* kdl_kernels_call(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                            const kdl_value* values);

/* The same, given to queue 0 of the device: it returns at once, and `done`, not NULL, is an event for the end of all of it.
 * Until then the memory is the call's. */
kdl_error* kdl_kernels_call_async(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                                  const kdl_value* values, kdl_event* const* after,
                                  int32_t after_count, kdl_event** done);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
