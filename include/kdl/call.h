/* The device runtime's C interface, third part: kernels that are called like functions, with pointers to
 * the caller's memory. Included by runtime.h, whose conventions apply here. For each kernel, NAME.h
 * declares a function that uses this interface. */
#pragma once

#include "kdl/queue.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Kernels on one device, looked up once. They may be called from any thread, including concurrently. */
typedef struct kdl_kernels kdl_kernels;

/* Opens `count` kernels, named as for kdl_context_find_kernel, on the device that the spec `device` names,
 * such as "host?threads=4". `images` is a NULL-terminated array of the images that contain the kernels; the
 * images are registered with the context. If `context` is NULL, the handle creates a context of its own. */
kdl_error* kdl_kernels_open(kdl_context* context, const kdl_image* const* images,
                            const char* device, const char* const* names, int32_t count,
                            kdl_kernels** kernels);

/* Closes the kernels; none of their calls may still be running. After the context has been destroyed, the
 * kernels may still be closed, but not used in any other way. NULL is allowed. */
void kdl_kernels_close(kdl_kernels* kernels);

/* The argument for one parameter. For a tensor: its elements in the process's memory, row-major without gaps,
 * at an address that is a multiple of the element size. The pointer may be NULL only if there are no
 * elements. A kernel writes the elements of `out` and `inout` parameters, which must share no byte with any
 * other parameter. */
typedef union kdl_value {
  const void* data; /* a tensor's elements */
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8; /* also for a bool */
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

/* Calls the kernel with index `kernel` on as many cores as the device runs at once. Returns when the kernel
 * has finished; returns its error if it failed. `sizes` contains the sizes of all dimensions of all tensor
 * parameters, in order; `values` has one entry for each parameter. The checks are those of kdl_launch_kernel
 * and happen before any effect. On `host`, the calling thread does part of the work, and the device's workers
 * help. Concurrent calls share the workers but otherwise do not wait for each other, nor for operations in
 * queues. On other devices, memory is copied to the device and back. */
kdl_error* kdl_kernels_call(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                            const kdl_value* values);

/* Like kdl_kernels_call, but enqueues the call on queue 0 of the device and returns immediately. `done`
 * receives an event for the end of the call. The caller must not use the memory before that event. */
kdl_error* kdl_kernels_call_async(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                                  const kdl_value* values, kdl_event* const* after,
                                  int32_t after_count, kdl_event** done);

/* Returns the device of the kernels, which is valid while they are open. */
kdl_device* kdl_kernels_device(const kdl_kernels* kernels);

/* ---- calls with tensors of any kind ---- */

typedef enum kdl_dynamic_kind {
  KDL_DYNAMIC_TENSOR = 0,
  KDL_DYNAMIC_INTEGER = 1,
  KDL_DYNAMIC_UNSIGNED = 2,
  KDL_DYNAMIC_FLOAT = 3,
  KDL_DYNAMIC_DEVICE_TENSOR = 4
} kdl_dynamic_kind;

/* An argument whose type the caller knows only at run time. */
typedef struct kdl_dynamic_arg {
  int32_t kind;         /* a kdl_dynamic_kind */
  int32_t is_read_only; /* of a tensor: the kernel must not write it */
  union {
    const kdl_tensor*
        tensor; /* a view of the process's memory, also with gaps or permuted dimensions; for
                   KDL_DYNAMIC_DEVICE_TENSOR, a view of the memory of the kernels' device, as for
                   kdl_array_wrap */
    int64_t integer;
    uint64_t unsigned_integer;
    double number;
  } value;
} kdl_dynamic_arg;

/* Calls one of the `count` kernels from index `first`: the one whose parameters have the arguments'
 * element types, ranks and constant sizes. It is an error if several have. Usually these kernels are the instances of one generic kernel.
 * Scalars are converted to the types of the parameters: integers must be in range, and floats are rounded. A
 * bool is true if the number is not 0. Tensors are either all in the process's memory or all in that of the
 * device, in which case nothing is copied. `core_num` may be KDL_CORES_AUTO. If `done` is NULL, returns when the
 * kernel has finished; else returns immediately, like kdl_kernels_call_async. If the names of the kernels state how many
 * dimensions packs have ("sum_axis<rank_A=1>"), all of them must state the same. */
kdl_error* kdl_kernels_call_dynamic(const kdl_kernels* kernels, int32_t first, int32_t count,
                                    int64_t core_num, const kdl_dynamic_arg* args,
                                    int32_t arg_count, kdl_event** done);

/* ---- bound calls ---- */

/* A kernel with its arguments, which are checked once for many calls. */
typedef struct kdl_bound_call kdl_bound_call;

/* Performs all checks of kdl_kernels_call and reserves all memory that the calls need. Sizes, pointers and
 * scalars stay the same in all calls. The contents of the tensors may change between calls. */
kdl_error* kdl_kernels_bind(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                            const kdl_value* values, kdl_bound_call** bound);

/* Calls the kernel like kdl_kernels_call. The kernel itself checks everything that depends on the contents of
 * tensors, in each call: indices, assertions, and the order of offsets that it reads. If it traps, the call
 * returns that error; later calls run normally. (Conditions that `requires` states are checked by `kernelc
 * run` and `kernelc test` only, not by calls.) Several threads may run different bound calls at once, but not
 * the same one.
 *
 * On `host`, a call that does all its work on the calling thread allocates no memory, takes no lock and makes
 * no system call, unless the kernel prints or traps. That is the case on `host?threads=1`, and otherwise if
 * the tensors have few bytes or the kernel has only one block. The key `cpus` keeps the calling thread on a
 * processor during the call, which takes system calls. A call that uses several threads waits for other
 * callers of the same threads, and wakes them if they sleep.
 *
 * On a device with its own memory, each call copies the inputs to the device and the outputs back. The memory
 * there is allocated when the call is bound. If a trace is written, each call is enqueued like
 * kdl_kernels_call_async, so that it appears there. */
kdl_error* kdl_bound_call_run(kdl_bound_call* bound);

/* Frees a bound call, which must not be running. NULL is allowed. kdl_kernels_close releases everything that
 * the bound calls of its kernels use: afterwards they return errors, but still have to be freed. The caller
 * must not close kernels while it binds, runs or frees a bound call of them. After the context has been
 * destroyed, bound calls may still be freed, but not used in any other way. */
void kdl_bound_call_free(kdl_bound_call* bound);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
