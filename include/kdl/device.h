/* The device runtime's C interface, first part: contexts and kernels, devices, memory. Included by
 * runtime.h, whose conventions apply here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kdl/error.h"
#include "kdl/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct kdl_context kdl_context;
typedef struct kdl_device kdl_device;
typedef struct kdl_queue kdl_queue;
typedef struct kdl_buffer kdl_buffer;
typedef struct kdl_event kdl_event;
typedef struct kdl_timeline kdl_timeline;
typedef struct kdl_function kdl_function;
typedef struct kdl_image kdl_image; /* a module compiled for one kind of device; see kernel_abi.h */

/* ---- context and kernels ---- */

/* kdl_context_create creates a context with the built-in kinds of device and no kernels. kdl_context_destroy
 * waits for running operations, fails those that have not started, and releases all devices. Afterwards, the
 * context's buffers, events, timelines and handles from kdl_queue_own may still be freed, its kernels closed
 * and its buffers unmapped, but they must not be used in any other way. NULL is allowed. */
kdl_error* kdl_context_create(kdl_context** context);
void kdl_context_destroy(kdl_context* context);

/* Functions that an application provides to a context, to replace the runtime's own memory and threads. A
 * function that the application does not provide is NULL. The functions may be called from any thread at any
 * time. */
typedef struct kdl_hooks {
  uint32_t size;    /* sizeof(kdl_hooks) */
  uint32_t version; /* KDL_HOOKS_VERSION */
  void* user;       /* the first argument of each function */
  /* Allocate and release memory: for devices that work in the host's memory, for copies in transit between
   * two other devices, and for scratch memory. `bytes` is at least 1, and the result must be aligned to
   * `alignment`; NULL means that no memory is available. Provide both functions or neither. Small objects
   * such as handles stay in the process's heap. */
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
  /* Provides threads for the cores of a launch on `host`. Calls work(argument, n) once for each n from 0
   * to workers - 1, on any threads, concurrently or in sequence, and returns when all calls have returned. */
  void (*run)(void* user, int32_t workers, void (*work)(void* argument, int32_t n), void* argument);
} kdl_hooks;

#define KDL_HOOKS_VERSION 1u

/* Creates a context that uses the functions in `hooks`. They may be called until the context and the last
 * of its buffers and kernels are destroyed. */
kdl_error* kdl_context_create_with(const kdl_hooks* hooks, kdl_context** context);

/* Registers an image's kernels. The image is not copied and must outlive the context. Images with another ABI
 * hash are refused. Kernels that another image of the same module has already registered for the same kind
 * and arch are also refused, unless the module's name includes a hash ("mlp#1f2e3d4c"). Registering an image
 * again has no effect. */
kdl_error* kdl_context_register(kdl_context* context, const kdl_image* image);

/* Calls kdl_context_register for each image of a NULL-terminated array, such as `kdl_images_NAME` of
 * NAME.h. */
kdl_error* kdl_context_register_all(kdl_context* context, const kdl_image* const* images);

/* Loads the shared object at `path` and registers its `kdl_module_images`. It stays loaded until the
 * context is destroyed. */
kdl_error* kdl_context_load(kdl_context* context, const char* path);

/* Finds a kernel by name. "matmul" is enough unless several modules have a kernel of that name: then the name
 * is "mlp.matmul", or "mlp#1f2e3d4c.matmul" if modules from several files have the same name. Constants
 * select one of several variants with the same arguments: "matmul<BM=64, BN=32>". "sum_axis<rank_A=1>" says how
 * many dimensions of tensors belong to the pack `A..`, where they do not determine it. The handle belongs to the
 * context and stays bound to its module; looking up the same name again returns the same handle. */
kdl_error* kdl_context_find_kernel(kdl_context* context, const char* name,
                                   const kdl_function** function);

/* Sets the function that receives the output of `print` in kernels. The default is standard output.
 * `write` receives whole lines, after the launch that prints them has run, and before its event completes. It
 * may be called from several threads, but only from one at a time. It may call the runtime, but must not wait
 * for the launch that printed the line, or for later operations of the same queue. Lines that are printed
 * while it runs are passed to it when it returns. kdl_context_on_print waits for calls on other threads. */
typedef void (*kdl_write_fn)(void* user, const char* text, size_t bytes);
void kdl_context_on_print(kdl_context* context, kdl_write_fn write, void* user);

/* ---- devices ---- */

/* The properties of a device. The struct may grow in later versions. `size` says how much of the struct the
 * writer or reader knows. Fields beyond that size are not written, and are read as 0. */
typedef struct kdl_device_facts {
  uint32_t size;    /* sizeof(kdl_device_facts) */
  uint32_t version; /* version of the runtime's structs: KDL_PLUGIN_VERSION */
  int64_t cores;    /* a useful number of concurrent cores, which `auto` selects */
  /* The number of cores that run at once, each with its own slice of workspace. 0 if every core of a launch
   * has a slice. */
  int64_t resident;
  int64_t memory_bytes; /* 0 if unknown */
  int32_t exact;        /* 1 if results are bit-identical to those of the reference interpreter */
  int32_t host_visible; /* 1 if the device's memory is the host's memory */
  int32_t functional;   /* 1 for an emulation, whose times do not predict those of a real device */
  int32_t checks_order; /* 1 if unordered uses of a buffer are reported as errors */
  uint64_t features;    /* the device's feature bits, which abi.def defines */
  const char*
      image_kind;   /* the kind of image that the device runs; valid while the context exists */
  const char* arch; /* such as "x86-64"; if there are several, the best first: "sm_90 sm_80" */
  uint64_t capabilities; /* KDL_CAN_ bits */
} kdl_device_facts;

enum kdl_capability {
  KDL_CAN_ORDER = 1, /* accepts operations early and orders them itself */
  KDL_CAN_CALL =
      2 /* runs launches on several callers' threads at once, and keeps their float state */
};

/* Selects a device by its spec, `kind[ordinal]?key=value&key=value`: "host", "host?threads=4",
 * "debug[1]?seed=7". The ordinal defaults to 0, and there may be no keys. The kind `plugin:PATH` loads the
 * shared object at PATH (device_plugin.h). Specs separated by commas are tried in order and the first
 * available device is selected. If no device is available, the error gives the reason for each spec. The same
 * kind, ordinal and keys always give the same device, which lives as long as the context. */
kdl_error* kdl_select_device(kdl_context* context, const char* spec, kdl_device** device);

/* Returns the spec in its shortest form, such as "host" or "debug[1]?seed=7". The string is valid while
 * the context exists. */
const char* kdl_device_uri(const kdl_device* device);
/* Returns 1 if memory of one device can be used on the other without a copy, else 0. */
int32_t kdl_devices_share_memory(const kdl_device* a, const kdl_device* b);
const char* kdl_device_kind(const kdl_device* device);
int64_t kdl_device_ordinal(const kdl_device* device);
/* Stores the properties of the device in `facts`. The caller must set facts->size before the call. */
kdl_error* kdl_device_get_facts(const kdl_device* device, kdl_device_facts* facts);

/* Returns queue `index` of the device, 0 to 63. The queue is created on first use, and exists as long as the
 * context. Operations of one queue run one after another, in the order in which they were enqueued. */
kdl_error* kdl_device_queue(kdl_device* device, int32_t index, kdl_queue** queue);

/* ---- memory ---- */

/* Allocates `bytes` (0 is allowed) of the device's memory, aligned to 64 bytes, with undefined contents.
 * `name` appears in messages; NULL and "" are allowed. The caller owns one reference. */
kdl_error* kdl_buffer_allocate(kdl_device* device, int64_t bytes, const char* name,
                               kdl_buffer** buffer);

/* Creates a buffer of `device` in the caller's memory, which must outlive every use of the buffer. If the
 * device is host-visible, `data` is an address of the process. On `cuda`, it is a device address, such as one
 * that cuMemAlloc, CuPy or PyTorch has returned; kdl_queue_after_stream orders operations after the caller's
 * own work on that memory. Other devices do not support memory of the caller. */
kdl_error* kdl_buffer_wrap(kdl_device* device, void* data, int64_t bytes, const char* name,
                           kdl_buffer** buffer);

/* Adds a reference, or drops one. The memory is released with the last reference, but not before the last
 * operation that uses it has ended. kdl_buffer_free allows NULL. */
void kdl_buffer_retain(kdl_buffer* buffer);
void kdl_buffer_free(kdl_buffer* buffer);

/* kdl_buffer_address returns the device address of byte 0, as used in kdl_tensor.data. */
kdl_device* kdl_buffer_device(const kdl_buffer* buffer);
int64_t kdl_buffer_bytes(const kdl_buffer* buffer);
const char* kdl_buffer_name(const kdl_buffer* buffer);
void* kdl_buffer_address(const kdl_buffer* buffer);

typedef enum kdl_map_access {
  KDL_MAP_READ = 1,
  KDL_MAP_WRITE = 2,
  KDL_MAP_READ_WRITE = 3
} kdl_map_access;

/* Makes the buffer's bytes accessible to the host until kdl_buffer_unmap. If the memory is host-visible, this
 * is the memory itself; else it is a copy, which unmap writes back if it was mapped for writing. Mapping does
 * not wait: the caller must first wait for the operations whose effects it wants to see, and must not start
 * other operations on the buffer until it is unmapped. A buffer may be mapped any number of times for
 * reading, each with its own unmap, or once for writing. */
kdl_error* kdl_buffer_map(kdl_buffer* buffer, kdl_map_access access, void** data);
kdl_error* kdl_buffer_unmap(kdl_buffer* buffer);

/* A tensor: a view together with its buffer, so that a pointer always comes with its device. This is a plain
 * value; copies share the buffer's reference. view.data is a device address inside the buffer, a multiple of
 * the element size. */
typedef struct kdl_array {
  kdl_buffer* buffer;
  kdl_tensor view;
} kdl_array;

/* Allocates a row-major tensor with its own buffer. `element` is KDL_F32 and so on; `sizes` has `rank`
 * entries, each 0 or more, with fewer than 2^63 bytes in all. Free it with kdl_array_free. */
kdl_error* kdl_array_allocate(kdl_device* device, uint8_t element, int32_t rank,
                              const int64_t* sizes, const char* name, kdl_array* array);

/* Creates a tensor in the caller's memory, as kdl_buffer_wrap does. `strides` are in elements, each 0 or
 * more; NULL means row-major. Free it with kdl_array_free, which does not free the memory. */
kdl_error* kdl_array_wrap(kdl_device* device, void* data, uint8_t element, int32_t rank,
                          const int64_t* sizes, const int64_t* strides, const char* name,
                          kdl_array* array);

/* Like kdl_array_wrap, for read-only memory: operations that would write to it are refused. */
kdl_error* kdl_array_wrap_constant(kdl_device* device, const void* data, uint8_t element,
                                   int32_t rank, const int64_t* sizes, const int64_t* strides,
                                   const char* name, kdl_array* array);

/* Stores 1 if some element of `a` and some element of `b` share memory, else 0. Arrays on devices without
 * common memory never overlap. If `b` is NULL, stores whether two indices of `a` share memory. */
kdl_error* kdl_arrays_overlap(const kdl_array* a, const kdl_array* b, int32_t* overlap);

/* Drops the array's reference to its buffer and zeroes the array. NULL is allowed. */
void kdl_array_free(kdl_array* array);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
