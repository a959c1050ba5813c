/* The device runtime's C interface, in C11. It allocates, moves, launches, orders and observes; it
 * knows nothing of the language. runtime.hpp is the same for C++ with owners and exceptions.
 *
 * Conventions, for every function here:
 *
 * A function that can fail returns `kdl_error*`: NULL, or an error that the caller owns and frees
 * with kdl_error_free; out parameters are then untouched. A NULL that no comment allows is one.
 *
 * All functions may be called from any thread at any time, except that an object may not be freed
 * while another call uses it. There is no global state: everything hangs off a kdl_context.
 *
 * Strings are UTF-8 and copied. Sizes and offsets are in elements where a name says so, else in
 * bytes.
 *
 * Operations on a queue take `after`: `after_count` events (NULL entries are skipped) that must
 * complete first, and `done`: NULL, or where an event for the operation is stored, which the caller
 * frees. They check their arguments before any effect and report what is wrong there and then; what
 * goes wrong later comes out of the event and of kdl_queue_wait. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kdl/error.h"
#include "kdl/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kdl_context kdl_context;
typedef struct kdl_device kdl_device;
typedef struct kdl_queue kdl_queue;
typedef struct kdl_buffer kdl_buffer;
typedef struct kdl_event kdl_event;
typedef struct kdl_timeline kdl_timeline;
typedef struct kdl_function kdl_function;

/* ---- context and kernels ---- */

/* A context with the built-in kinds of device and no kernels; and its end, which waits for
 * operations that run, fails those that still wait, and releases all devices. Buffers, events and
 * timelines of the context may be freed after it, but no longer used. NULL is allowed.
 */
kdl_error* kdl_context_create(kdl_context** context);
void kdl_context_destroy(kdl_context* context);

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

typedef struct kdl_device_facts {
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
  const char* arch;       /* "x86-64" */
} kdl_device_facts;

/* Selects a device by spec: `kind[ordinal]?key=value&key=value`, ordinal 0 and no keys where left
 * out: "host", "host?threads=4", "debug[1]?seed=7". Specs separated by commas are tried in order
 * and the first that is there is taken; when none is, the error gives the reason for each. The same
 * kind, ordinal and keys give the same device, which lives as long as the context. */
kdl_error* kdl_select_device(kdl_context* context, const char* spec, kdl_device** device);

/* "host", "debug[1]?seed=7": the spec in its shortest form. Lives as long as the context. */
const char* kdl_device_uri(const kdl_device* device);
const char* kdl_device_kind(const kdl_device* device);
int64_t kdl_device_ordinal(const kdl_device* device);
void kdl_device_get_facts(const kdl_device* device, kdl_device_facts* facts);

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
 * on the buffer meanwhile. One map at a time. */
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

/* Gives the array's reference to its buffer back and zeroes the array. NULL is allowed. */
void kdl_array_free(kdl_array* array);

/* ---- events ---- */

/* An event is a point on a timeline, a counter that only rises: it has completed when the counter
 * has reached it. Each queue has a timeline; the caller may make others. An event fails when what
 * it stands for failed; that is final, and whatever comes after it fails with the same first cause.
 */

/* Waits until the event has completed or failed, at most `timeout_ns` nanoseconds (negative: for
 * ever). Gives its failure, or KDL_ERROR_TIMEOUT. NULL has completed. */
kdl_error* kdl_event_wait(kdl_event* event, int64_t timeout_ns);

/* 1 when it has completed or failed, else 0. */
int32_t kdl_event_is_done(const kdl_event* event);
void kdl_event_retain(kdl_event* event);
void kdl_event_free(kdl_event* event);

/* A counter that the caller raises; starts at `value`. */
kdl_error* kdl_timeline_create(kdl_context* context, uint64_t value, kdl_timeline** timeline);

/* The event that completes when the counter reaches `value`, whether or not that has been
 * signalled. */
kdl_error* kdl_timeline_event(kdl_timeline* timeline, uint64_t value, kdl_event** event);

/* Raises the counter; a value that is not above the present one is an error. Operations that this
 * sets free may run on the calling thread before it returns. */
kdl_error* kdl_timeline_signal(kdl_timeline* timeline, uint64_t value);

/* Fails every event above the counter's present value, now and later, with this message. */
kdl_error* kdl_timeline_fail(kdl_timeline* timeline, kdl_code code, const char* message);

uint64_t kdl_timeline_value(const kdl_timeline* timeline);

/* Events that still wait for a freed timeline fail. NULL is allowed. */
void kdl_timeline_free(kdl_timeline* timeline);

/* ---- operations ---- */

/* core_num for "as many as the device holds"; every other value below 1 is an error. */
#define KDL_CORES_AUTO INT64_MIN

/* One argument: `array` for a tensor parameter, else a scalar of kind `element` in the low bytes of
 * `bits`. */
typedef struct kdl_arg {
  const kdl_array* array; /* NULL: a scalar */
  uint64_t bits;
  uint8_t element; /* of a scalar; ignored for a tensor */
  uint8_t reserved0[7];
} kdl_arg;

/* Runs a kernel on `core_num` cores. The variant is the first that fits the arguments' element
 * types, ranks and constant sizes and the device's features. Before any effect it is checked that:
 * the arguments fit the parameters; sizes that share a name agree; every tensor lives on the
 * queue's device, is strided with innermost stride 1, aligned to its elements and lies inside its
 * buffer; no `out` or `inout` tensor overlaps another parameter; the variant's own launch checks
 * hold. `workspace`: memory of the device for the cores' pipes, in which no argument lies, or NULL;
 * with room for both (kdl_launch_workspace_bytes) also for the tensors that the cores share. What
 * finds no place is allocated. The arrays are copied; their buffers live until the launch is over. */
kdl_error* kdl_launch_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                             const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                             kdl_event* const* after, int32_t after_count, kdl_event** done);

/* Bytes of workspace that this launch needs; makes the same checks. */
kdl_error* kdl_launch_workspace_bytes(kdl_queue* queue, const kdl_function* function,
                                      int64_t core_num, const kdl_arg* args, int32_t arg_count,
                                      int64_t* bytes);

/* The same in two numbers, for callers that keep a workspace from launch to launch: the most slices
 * that a launch on `core_num` cores has (KDL_CORES_AUTO as there; 0 where core_num is no number of
 * cores; fewer are taken where fewer cores have blocks), and the bytes of a slice: the most that any
 * variant of the function takes which the device may run. Without what a launch's cores share. */
int64_t kdl_device_instances(const kdl_device* device, int64_t core_num);
kdl_error* kdl_function_footprint(const kdl_function* function, kdl_device* device, int64_t* bytes);

/* Makes `*workspace`, which may be NULL, hold `instances` slices of `footprint` bytes: leaves it
 * where it is large enough, else puts a larger buffer in its place, whose reference takes that of the
 * old one. Needs nothing to have ended: the old memory lives until the operations that use it have. */
kdl_error* kdl_workspace_reserve(kdl_device* device, int64_t instances, int64_t footprint,
                                 const char* name, kdl_buffer** workspace);

/* Copies all elements of `from` to `to`: the same element type and sizes, any strides (but `to`
 * without overlap in itself), on any two devices; the two do not overlap in memory. `cause` says
 * why, for the statistics: "matmul (mlp.kdl:8) reads x on npu". NULL: "copy". */
kdl_error* kdl_copy(kdl_queue* queue, const kdl_array* to, const kdl_array* from, const char* cause,
                    kdl_event* const* after, int32_t after_count, kdl_event** done);

/* Sets every element to the value in the low bytes of `bits`. */
kdl_error* kdl_fill(kdl_queue* queue, const kdl_array* to, uint64_t bits, kdl_event* const* after,
                    int32_t after_count, kdl_event** done);

/* Calls `call(user)` in the queue's order, on an unspecified thread. It returns NULL or an error,
 * which it gives away, and may call the runtime but must not wait for later operations of the same
 * queue. `release(user)`, where not NULL, is called once: after `call`, or instead of it when
 * something before has failed. */
typedef kdl_error* (*kdl_host_fn)(void* user);
kdl_error* kdl_host_call(kdl_queue* queue, kdl_host_fn call, void (*release)(void* user),
                         void* user, kdl_event* const* after, int32_t after_count,
                         kdl_event** done);

/* Waits for all operations given to the queue so far. Gives the first failure among those that no
 * wait has reported yet. Until its failure has been reported, by this or by waiting for an event, a
 * failed operation also fails what is queued behind it; from then on the queue works as if new. */
kdl_error* kdl_queue_wait(kdl_queue* queue);

/* ---- statistics ---- */

typedef struct kdl_statistics {
  int64_t launches;
  int64_t copies;       /* kdl_copy and what kdl_buffer_map moved */
  int64_t bytes_copied; /* by them */
  int64_t fills;
  int64_t allocations;
  int64_t bytes_allocated; /* in all */
  int64_t bytes_in_use;    /* now */
  int64_t bytes_peak;      /* the most at once */
} kdl_statistics;

/* Counts since the context was made; of one device, where a copy counts for the device that
 * receives. */
void kdl_device_get_statistics(const kdl_device* device, kdl_statistics* statistics);

/* What one cause moved between one pair of devices. */
typedef struct kdl_transfer {
  const char* cause; /* the strings live until the context is destroyed */
  const char* from;  /* device URIs */
  const char* to;
  const char*
      tensor; /* the name of the buffer that receives, or of the one read where it has none */
  int64_t count;
  int64_t bytes;
} kdl_transfer;

/* The transfers so far, in the order of their first occurrence: stores at most `capacity` of them
 * and returns how many there are. */
int64_t kdl_context_get_transfers(const kdl_context* context, kdl_transfer* transfers,
                                  int64_t capacity);

#ifdef __cplusplus
}
#endif
