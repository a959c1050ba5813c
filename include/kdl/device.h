/* The device runtime's C interface, first part: contexts and kernels, devices, memory. Included by runtime.h,
 * whose conventions hold here. */
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
typedef struct kdl_image kdl_image; /* a compiled module for one kind of device: kernel_abi.h */

/* ---- context and kernels ---- */

/* A context with the built-in kinds of device and no kernels; and its end, which waits for
 * operations that run, fails those that still wait, and releases all devices. Buffers, events, timelines
 * and queues' own handles of the context may be freed after it, kernels closed and buffers unmapped, but no longer used.
 * NULL is allowed. */
kdl_error* kdl_context_create(kdl_context** context);
void kdl_context_destroy(kdl_context* context);

/* What an application lends to a context in the place of the runtime's own; NULL where it lends nothing. */
typedef struct kdl_hooks {
  uint32_t size;    /* sizeof(kdl_hooks) */
  uint32_t version; /* KDL_HOOKS_VERSION */
  void* user;       /* the first argument of all of them, which any thread may call at any time */
  /* Memory of devices that work in the host's memory, of copies on their way between two others, and for
   * scratch: `bytes`, 1 or more, aligned to `alignment`; NULL where there is not enough. And its end. Both or
   * none. Small things, such as handles, stay in the process's heap. */
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
  /* Threads for the cores of a launch on `host`: calls work(argument, n) for each n from 0 to workers - 1,
   * once, on any threads, at once or one after the other, and returns when all have returned. */
  void (*run)(void* user, int32_t workers, void (*work)(void* argument, int32_t n), void* argument);
} kdl_hooks;

#define KDL_HOOKS_VERSION 1u

/* A context that works with what the application lends; it is used until the context and the last of its
 * buffers and kernels are gone. */
kdl_error* kdl_context_create_with(const kdl_hooks* hooks, kdl_context** context);

/* Makes an image's kernels known. The image is not copied and must outlive the context. Refused:
 * another ABI hash, a kernel that is already registered for the same kind and arch from another
 * image of the same module, unless its name has a hash ("mlp#1f2e3d4c"). Once more does nothing. */
kdl_error* kdl_context_register(kdl_context* context, const kdl_image* image);

/* kdl_context_register for each image of an array that NULL ends: `kdl_images_NAME` of NAME.h. */
kdl_error* kdl_context_register_all(kdl_context* context, const kdl_image* const* images);

/* Loads the shared object at `path` and registers its `kdl_module_images`; it stays loaded as long
 * as the context. */
kdl_error* kdl_context_load(kdl_context* context, const char* path);

/* Finds kernels by name: "matmul", or "mlp.matmul" where several modules have one of that name, or
 * "mlp#1f2e3d4c.matmul" where their files have one name; with constants where several variants take
 * the same arguments: "matmul<BM=64, BN=32>". The handle belongs to the context and stays with its
 * module; looking up the same name again gives the same handle. */
kdl_error* kdl_context_find_kernel(kdl_context* context, const char* name,
                                   const kdl_function** function);

/* Where `print` in kernels goes; without it, to standard output. `write` may be called from several
 * threads, one call at a time, with whole lines. */
typedef void (*kdl_write_fn)(void* user, const char* text, size_t bytes);
void kdl_context_on_print(kdl_context* context, kdl_write_fn write, void* user);

/* ---- devices ---- */

/* A table that can grow: whoever fills or reads one says how long it knows it to be, and what the other side
 * has beyond that is left alone, or 0. */
typedef struct kdl_device_facts {
  uint32_t size;        /* sizeof(kdl_device_facts) */
  uint32_t version;     /* of the runtime's tables: KDL_PLUGIN_VERSION */
  int64_t cores;        /* as many cores of a launch as make sense at once; what `auto` gives */
  int64_t resident;     /* so many cores of a launch run at once, each with a slice of workspace of
                             its own; 0: all of them have one */
  int64_t memory_bytes; /* 0: unknown */
  int32_t exact;        /* 1: results equal the reference interpreter's to the bit */
  int32_t host_visible; /* 1: its memory is the host's memory */
  int32_t functional;   /* 1: an emulation, its times say nothing of a device */
  int32_t checks_order; /* 1: unordered uses of one buffer in its context are errors */
  uint64_t features;    /* feature bits of abi.def that it has */
  const char* image_kind; /* the kind of image that it runs; lives as long as the context */
  const char* arch; /* "x86-64"; of several, whose code it runs, "sm_90 sm_80", the best first */
  uint64_t capabilities; /* KDL_CAN_ bits */
} kdl_device_facts;

enum kdl_capability {
  KDL_CAN_ORDER = 1, /* takes operations early and orders them itself */
  KDL_CAN_CALL = 2 /* runs launches of several threads at once, each to its end on its own thread */
};

/* Selects a device by spec: `kind[ordinal]?key=value&key=value`, ordinal 0 and no keys where left
 * out: "host", "host?threads=4", "debug[1]?seed=7". The kind `plugin:PATH` is that of the shared object at
 * PATH (device_plugin.h), which is loaded. Specs separated by commas are tried in order
 * and the first that is there is taken; when none is, the error gives the reason for each. The same
 * kind, ordinal and keys give the same device, which lives as long as the context. */
kdl_error* kdl_select_device(kdl_context* context, const char* spec, kdl_device** device);

/* "host", "debug[1]?seed=7": the spec in its shortest form. Lives as long as the context. */
const char* kdl_device_uri(const kdl_device* device);
/* Whether what lives on one of them can be used on the other as it is: 1, or 0. */
int32_t kdl_devices_share_memory(const kdl_device* a, const kdl_device* b);
const char* kdl_device_kind(const kdl_device* device);
int64_t kdl_device_ordinal(const kdl_device* device);
/* The caller has set facts->size. */
kdl_error* kdl_device_get_facts(const kdl_device* device, kdl_device_facts* facts);

/* Queue `index` of the device, 0 to 63; made at its first use, lives as long as the context.
 * Operations of one queue run one after the other in the order in which they were given. */
kdl_error* kdl_device_queue(kdl_device* device, int32_t index, kdl_queue** queue);

/* ---- memory ---- */

/* `bytes` (0 is legal) of the device's memory, aligned to 64, contents undefined. `name` appears in
 * messages; NULL and "" are allowed. The caller owns one reference. */
kdl_error* kdl_buffer_allocate(kdl_device* device, int64_t bytes, const char* name,
                               kdl_buffer** buffer);

/* The caller's own memory as a buffer of `device`, which must be host-visible. It must outlive
 * every use of the buffer. */
kdl_error* kdl_buffer_wrap(kdl_device* device, void* data, int64_t bytes, const char* name,
                           kdl_buffer** buffer);

/* One more reference, and one less: the memory goes with the last one, and no earlier than the last
 * operation that uses it. NULL is allowed. */
void kdl_buffer_retain(kdl_buffer* buffer);
void kdl_buffer_free(kdl_buffer* buffer);

/* The address is the device's, of byte 0: it goes into kdl_tensor.data. */
kdl_device* kdl_buffer_device(const kdl_buffer* buffer);
int64_t kdl_buffer_bytes(const kdl_buffer* buffer);
const char* kdl_buffer_name(const kdl_buffer* buffer);
void* kdl_buffer_address(const kdl_buffer* buffer);

typedef enum kdl_map_access {
  KDL_MAP_READ = 1,
  KDL_MAP_WRITE = 2,
  KDL_MAP_READ_WRITE = 3
} kdl_map_access;

/* The buffer's bytes for the host until kdl_buffer_unmap: the memory itself where it is
 * host-visible, else a copy that unmap writes back when it was mapped for writing. Waits for
 * nothing: the caller has waited for the operations whose effect it wants to see, and starts none
 * on the buffer meanwhile. Any number of maps for reading at a time, each with its own unmap, or one for writing. */
kdl_error* kdl_buffer_map(kdl_buffer* buffer, kdl_map_access access, void** data);
kdl_error* kdl_buffer_unmap(kdl_buffer* buffer);

/* A tensor: a view and the buffer that it looks at, so that no pointer travels without its device.
 * A plain value; copies share the buffer's reference. view.data is a device address inside the
 * buffer, a multiple of the element's bytes. */
typedef struct kdl_array {
  kdl_buffer* buffer;
  kdl_tensor view;
} kdl_array;

/* A new row-major tensor with its own buffer. `element` is KDL_F32 and so on; `sizes` has `rank`
 * entries, each 0 or more, with fewer than 2^63 bytes in all. Free with kdl_array_free. */
kdl_error* kdl_array_allocate(kdl_device* device, uint8_t element, int32_t rank,
                              const int64_t* sizes, const char* name, kdl_array* array);

/* A tensor over the caller's memory, as kdl_buffer_wrap. `strides` in elements, 0 or more; NULL:
 * row-major. Free with kdl_array_free, which leaves the memory alone. */
kdl_error* kdl_array_wrap(kdl_device* device, void* data, uint8_t element, int32_t rank,
                          const int64_t* sizes, const int64_t* strides, const char* name,
                          kdl_array* array);

/* The same over memory that may only be read: what would write to it is refused. */
kdl_error* kdl_array_wrap_constant(kdl_device* device, const void* data, uint8_t element,
                                   int32_t rank, const int64_t* sizes, const int64_t* strides,
                                   const char* name, kdl_array* array);

/* Whether some element of one array and some element of the other lie in the same memory, which arrays on devices without
 * common memory never do: 1, or 0. With NULL for `b`: whether two indices of the array do. */
kdl_error* kdl_arrays_overlap(const kdl_array* a, const kdl_array* b, int32_t* overlap);

/* Gives the array's reference to its buffer back and zeroes the array. NULL is allowed. */
void kdl_array_free(kdl_array* array);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
