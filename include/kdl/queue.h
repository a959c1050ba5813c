/* The device runtime's C interface, second part: events, and the operations that go into queues. Included
 * by runtime.h, whose conventions hold here. */
#pragma once

#include "kdl/device.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- events ---- */

/* An event is a point on a timeline, a counter that only rises: it has completed when the counter
 * has reached it. Each queue has a timeline; the caller may make others. An event fails when what
 * it stands for failed; that is final, and whatever comes after it fails with the same first cause.
 */

/* Waits until the event has completed or failed, at most `timeout_ns` nanoseconds (negative: for
 * ever). Gives its failure, or KDL_ERROR_TIMEOUT, which nothing else gives. NULL has completed. All goes
 * on whether or not anybody waits; who waits for ever runs, on the calling thread, what it waits for and
 * has not begun. */
kdl_error* kdl_event_wait(kdl_event* event, int64_t timeout_ns);

/* Cancels the operation that the event stands for: one that has not begun is dropped when its turn comes,
 * a kernel that runs stops at its next block, `sync` or pipe. It fails with KDL_ERROR_CANCELLED, whatever
 * it had done by then, and so does what comes after it. One that has ended stays as it is. An error: an
 * event of a timeline that the caller raises. */
kdl_error* kdl_event_cancel(kdl_event* event);

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
 * sets free run on other threads. */
kdl_error* kdl_timeline_signal(kdl_timeline* timeline, uint64_t value);

/* Fails every event above the counter's present value, now and later, with this message. Any code but KDL_OK
 * and KDL_ERROR_TIMEOUT, which only waits give. */
kdl_error* kdl_timeline_fail(kdl_timeline* timeline, kdl_code code, const char* message);

uint64_t kdl_timeline_value(const kdl_timeline* timeline);

/* Events that still wait for a freed timeline fail. NULL is allowed. */
void kdl_timeline_free(kdl_timeline* timeline);

/* ---- operations ---- */

/* The largest size of a launch, and the most cores: what kernels compute of them stays in 64 bits. */
#define KDL_LARGEST_SIZE INT64_C(0x7ffffffffff)

/* core_num for "as many as the device holds"; every other value below 1, or above KDL_LARGEST_SIZE, is an
 * error. */
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
 * queue's device, or on one that works in the same memory, the host's, is strided with innermost stride 1, aligned to its elements and lies inside its
 * buffer; no `out` or `inout` tensor overlaps another parameter; the variant's own launch checks
 * hold. `workspace`: memory of the device for the cores' pipes, in which no argument lies, or NULL;
 * with room for both (kdl_launch_workspace_bytes) also for the tensors that the cores share. What
 * finds no place is allocated. The arrays are copied; their buffers live until the launch is over.
 * Returns at once: nothing of it runs on the calling thread before that waits. */
kdl_error* kdl_launch_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                             const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                             kdl_event* const* after, int32_t after_count, kdl_event** done);

/* The same, and returns when it is over, with what it failed of. The calling thread works on it: on a queue
 * that has nothing else to do, the host's workers help where there is enough to do, and nothing is
 * allocated. */
kdl_error* kdl_run_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                          const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                          kdl_event* const* after, int32_t after_count);

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
 * where it is of this device and large enough, else puts a larger buffer in its place, whose reference takes that of the
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

/* Calls `call(user)`, where `call` is not NULL, in the queue's order, on another thread or on one that waits for it. It returns NULL or an error,
 * which it gives away, and may call the runtime but must not wait for later operations of the same
 * queue. `release(user)`, where not NULL, is called once: after `call`, or instead of it when
 * something before has failed. */
typedef kdl_error* (*kdl_host_fn)(void* user);
kdl_error* kdl_host_call(kdl_queue* queue, kdl_host_fn call, void (*release)(void* user),
                         void* user, kdl_event* const* after, int32_t after_count,
                         kdl_event** done);

/* Waits for all operations given through this handle so far. Gives the first failure among those here that the
 * caller has not been told of: by this, by waiting for an event of one of them, or by kdl_run_kernel with it. An
 * operation also fails what was given through its handle behind it before the caller was told; what is given
 * afterwards runs, whenever the failure came. */
kdl_error* kdl_queue_wait(kdl_queue* queue);

/* Another handle of the queue, for a caller of its own, such as one of several threads: the order is one, but
 * what fails of what is given through a handle is told to those alone who wait with it, and fails nothing of
 * others. */
kdl_error* kdl_queue_own(kdl_queue* queue, kdl_queue** own);

/* Frees a handle of kdl_queue_own; what was given through it goes on. NULL is allowed. What kdl_device_queue
 * gave stays. */
void kdl_queue_free(kdl_queue* queue);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
