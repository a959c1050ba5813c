/* The device runtime's C interface, second part: events, and the operations of queues. Included by
 * runtime.h, whose conventions apply here. */
#pragma once

#include "kdl/device.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- events ---- */

/* An event is a point on a timeline, which is a counter that only increases: the event has completed when the
 * counter has reached it. Each queue has a timeline; the caller may create others. An event fails when its
 * operation has failed. Failure is final, and everything that waits for the event fails with the same first
 * cause. */

/* Waits until the event has completed or failed, for at most `timeout_ns` nanoseconds (negative: without
 * limit). Returns its failure, or KDL_ERROR_TIMEOUT, which no other function returns. NULL counts as
 * completed. Operations make progress whether or not anybody waits. A wait without limit runs operations
 * that it waits for, and that have not started, on the calling thread. */
kdl_error* kdl_event_wait(kdl_event* event, int64_t timeout_ns);

/* Cancels the event's operation. An operation that has not started is dropped when its turn comes; a running
 * kernel stops at its next block, `sync` or pipe. The operation fails with KDL_ERROR_CANCELLED, whatever it
 * has done by then, and so does everything that waits for it. An operation that has ended is not affected. It
 * is an error to cancel an event of a timeline that the caller created. */
kdl_error* kdl_event_cancel(kdl_event* event);

/* Returns 1 if the event has completed or failed, else 0. */
int32_t kdl_event_is_done(const kdl_event* event);
void kdl_event_retain(kdl_event* event);
void kdl_event_free(kdl_event* event);

/* Creates a counter that the caller increases. Its initial value is `value`. */
kdl_error* kdl_timeline_create(kdl_context* context, uint64_t value, kdl_timeline** timeline);

/* Returns the event that completes when the counter reaches `value`, which may be in the past or in the
 * future. */
kdl_error* kdl_timeline_event(kdl_timeline* timeline, uint64_t value, kdl_event** event);

/* Increases the counter to `value`, which must be greater than the present value; otherwise the call returns
 * an error. Operations that were waiting for this value run on other threads. */
kdl_error* kdl_timeline_signal(kdl_timeline* timeline, uint64_t value);

/* Fails every event above the counter's present value, including events created later, with this message.
 * `code` may be anything except KDL_OK and KDL_ERROR_TIMEOUT, which only waits return. */
kdl_error* kdl_timeline_fail(kdl_timeline* timeline, kdl_code code, const char* message);

uint64_t kdl_timeline_value(const kdl_timeline* timeline);

/* Frees the timeline; events that still wait for it fail. NULL is allowed. */
void kdl_timeline_free(kdl_timeline* timeline);

/* ---- operations ---- */

/* The largest size in a launch, and the largest number of cores. Up to this limit, everything that kernels
 * compute from sizes fits in 64 bits. */
#define KDL_LARGEST_SIZE INT64_C(0x7ffffffffff)

/* The core_num that means "as many as the device runs at once". A device may choose this number for each
 * kernel (kdl_device_ops.cores). Any other value below 1, or above KDL_LARGEST_SIZE, is an error. */
#define KDL_CORES_AUTO INT64_MIN

/* An argument. For a tensor parameter, `array` is set. For a scalar parameter, the low bytes of `bits`
 * contain a scalar of type `element`. */
typedef struct kdl_arg {
  const kdl_array* array; /* NULL for a scalar */
  uint64_t bits;
  uint8_t element; /* the scalar's type; ignored for a tensor */
  uint8_t reserved0[7];
} kdl_arg;

/* A tensor with its name in the source. */
typedef struct kdl_named_array {
  const char* name;
  const kdl_array* array;
} kdl_named_array;

/* Runs a kernel on `core_num` cores. The variant is the first that fits the arguments' element types, ranks
 * and constant sizes, and the device's features. Before the launch has any effect, the function checks that:
 *   - the arguments fit the parameters, and sizes that share a name agree;
 *   - every tensor is on the queue's device, or both that device and the tensor's use the host's memory;
 *   - every tensor is strided with innermost stride 1, aligned to its element size, and inside its buffer;
 *   - no `out` or `inout` tensor overlaps another parameter;
 *   - the variant's own launch checks pass.
 * `workspace` is NULL or memory of the device that overlaps no argument. It is used for the pipes of the
 * cores and, if it is large enough for both (kdl_launch_workspace_bytes), for the tensors that the cores
 * share. Whatever does not fit is allocated. The arrays are copied; their buffers live until the launch has
 * ended. The call returns immediately. No part of the launch runs on the calling thread until that thread
 * waits. */
kdl_error* kdl_launch_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                             const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                             kdl_event* const* after, int32_t after_count, kdl_event** done);

/* Like kdl_launch_kernel, but returns when the launch has ended, with its failure if it failed. The
 * calling thread does part of the work. If the queue has nothing else to do, the host's workers help when
 * there is enough work, and nothing is allocated. */
kdl_error* kdl_run_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                          const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                          kdl_event* const* after, int32_t after_count);

/* Computes the bytes of workspace that this launch needs, after the same checks. */
kdl_error* kdl_launch_workspace_bytes(kdl_queue* queue, const kdl_function* function,
                                      int64_t core_num, const kdl_arg* args, int32_t arg_count,
                                      int64_t* bytes);

/* These functions return the size of a workspace as two numbers, for callers that keep a workspace across
 * launches. kdl_device_instances returns the maximum number of slices that a launch on `core_num` cores uses.
 * KDL_CORES_AUTO is allowed, the result for an invalid core_num is 0, and launches use fewer slices if fewer
 * cores have blocks. kdl_function_footprint computes the bytes of a slice: the maximum over all variants of
 * the function that the device can run. The memory that the cores share is not included. */
int64_t kdl_device_instances(const kdl_device* device, int64_t core_num);
kdl_error* kdl_function_footprint(const kdl_function* function, kdl_device* device, int64_t* bytes);

/* Makes `*workspace`, which may be NULL, large enough for `instances` slices of `footprint` bytes. Keeps a
 * buffer of this device that is large enough; else replaces it with a larger one and drops the reference to
 * the old one. The caller need not wait for operations: the old memory lives until all operations that use it
 * have ended. */
kdl_error* kdl_workspace_reserve(kdl_device* device, int64_t instances, int64_t footprint,
                                 const char* name, kdl_buffer** workspace);

/* Copies all elements of `from` to `to`, on any two devices. Both have the same element type and sizes,
 * and any strides, except that `to` must not overlap itself. The two must not overlap. `cause` gives the
 * reason, for the statistics: "matmul (mlp.kdl:8) reads x on npu". NULL means "copy". */
kdl_error* kdl_copy(kdl_queue* queue, const kdl_array* to, const kdl_array* from, const char* cause,
                    kdl_event* const* after, int32_t after_count, kdl_event** done);

/* Sets every element to the value in the low bytes of `bits`. */
kdl_error* kdl_fill(kdl_queue* queue, const kdl_array* to, uint64_t bits, kdl_event* const* after,
                    int32_t after_count, kdl_event** done);

/* Calls `call(user)`, unless `call` is NULL, in the queue's order, on another thread or on one that waits for
 * it. `call` returns NULL or an error, whose ownership passes to the runtime. If the code of the error is KDL_OK or
 * KDL_ERROR_TIMEOUT, the operation fails with KDL_ERROR_DEVICE instead. `call` may call the runtime, but
 * must not wait for later operations of the same queue. `release(user)`, unless NULL, is called once: after
 * `call`, or instead of it if an earlier operation has failed. */
typedef kdl_error* (*kdl_host_fn)(void* user);
kdl_error* kdl_host_call(kdl_queue* queue, kdl_host_fn call, void (*release)(void* user),
                         void* user, kdl_event* const* after, int32_t after_count,
                         kdl_event** done);

/* Operations that are enqueued later start after the work that `stream` contains at present. `stream` is a
 * stream of the driver of the queue's device: on `cuda`, a CUstream, or one of CUDA's numbers for the default
 * streams of a process and of a thread (1 and 2). Other devices return KDL_ERROR_UNSUPPORTED. The stream may be
 * destroyed afterwards. */
kdl_error* kdl_queue_after_stream(kdl_queue* queue, void* stream);

/* Work that `stream` gets later starts after the event of an operation. `stream` is a stream of the driver of
 * the operation's device, as above. If the operation has been given to a GPU and cannot fail there, returns
 * immediately, and the GPU orders the work. Otherwise waits for the event, and returns its failure. */
kdl_error* kdl_stream_after_event(void* stream, kdl_event* event);

/* Waits for all operations enqueued through this handle so far. Returns the first of their failures that has
 * not been reported to the caller yet: by this function, by a wait for the event of one of them, or by
 * kdl_run_kernel with this handle. If an operation fails, operations that are enqueued through the same
 * handle after it, but before its failure is reported, also fail. Operations that are enqueued after the
 * report run normally. */
kdl_error* kdl_queue_wait(kdl_queue* queue);

/* Creates another handle of the queue for a separate caller, such as one of several threads. The operations
 * of all handles run in one order. A failure of an operation is reported only to callers that wait with its
 * handle, and does not fail operations of other handles. */
kdl_error* kdl_queue_own(kdl_queue* queue, kdl_queue** own);

/* Frees a handle from kdl_queue_own; its operations continue. NULL is allowed. Handles from
 * kdl_device_queue are not freed. */
void kdl_queue_free(kdl_queue* queue);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
