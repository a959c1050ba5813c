/* The device runtime's C interface, in C11. The runtime allocates tensors, moves them between devices,
 * launches kernels and orders these operations. It does not depend on the language in which the kernels are
 * written. runtime.hpp is the same for C++, with owning types and exceptions.
 *
 * Conventions for every function here:
 *
 * A function that can fail returns `kdl_error*`: NULL, or an error that the caller owns and frees with
 * kdl_error_free. On failure, out parameters are not modified. Passing NULL is an error unless a comment
 * allows it.
 *
 * All functions may be called from any thread at any time, except that an object may not be freed while
 * another call uses it. There is no global state: everything belongs to a kdl_context.
 *
 * If no memory is available, the error is KDL_ERROR_OUT_OF_MEMORY, even for operations that run on other
 * threads.
 *
 * A forked process must create contexts of its own. On a context of its parent, functions fail with
 * KDL_ERROR_UNSUPPORTED, and functions that free objects do nothing.
 *
 * Strings are UTF-8 and copied. Sizes and offsets are in elements where a name says so, else in bytes.
 *
 * Operations on a queue have two further parameters. `after` contains `after_count` events that must complete
 * before the operation starts; NULL entries are skipped. `done` is NULL, or receives an event for the
 * operation, which the caller frees. Operations check their arguments before they have any effect, and return
 * errors immediately. Later failures are reported through the event and kdl_queue_wait. */
#pragma once

#include "kdl/call.h"
#include "kdl/device.h"
#include "kdl/link.h"
#include "kdl/queue.h"
#include "kdl/version.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- the floating-point state ---- */

/* Results are defined for rounding to nearest, with subnormal numbers, and with floating-point exceptions
 * masked. The runtime computes in this state, including when it calls the application's functions, and
 * preserves the caller's state. Compiled programs compute between calls of these two functions:
 * kdl_float_enter sets the state of this thread and returns the previous state, which kdl_float_leave
 * restores. */
uint64_t kdl_float_enter(void);
void kdl_float_leave(uint64_t before);

/* ---- statistics ---- */

/* If the environment variable KDL_TRACE names a file, a context writes a trace to it when it is destroyed,
 * for the viewers of Chrome and Perfetto. There is a row for each queue, for each core of devices that
 * report cores, and for each stage of a core, with its waits at pipes. */

typedef struct kdl_statistics {
  int64_t launches;
  int64_t copies;       /* kdl_copy, and copies by kdl_buffer_map */
  int64_t bytes_copied; /* bytes copied by these copies */
  int64_t fills;
  int64_t allocations;
  int64_t bytes_allocated; /* total */
  int64_t bytes_in_use;    /* at present */
  int64_t bytes_peak;      /* maximum at any time */
} kdl_statistics;

/* Returns the counts of one device since its context was created. A copy counts for the device that
 * receives the data. */
void kdl_device_get_statistics(const kdl_device* device, kdl_statistics* statistics);

/* A number that a kind of device counts, such as the bytes that its kernels moved between its memories. */
typedef struct kdl_count {
  const char* name; /* valid while the device exists */
  int64_t value;
} kdl_count;

/* The name of the count of kernel time, for devices that have a clock. */
#define KDL_COUNT_KERNEL_TIME "nanoseconds in kernels since first asked"

/* Stores at most `capacity` counts of a device and returns how many there are. They cover the time since
 * the context was created. Exceptions are counts that are costly to measure, such as kernel time by the
 * device's clock, which start with the first call of this function. */
int64_t kdl_device_get_counts(const kdl_device* device, kdl_count* counts, int64_t capacity);

/* A property of a device as its driver reports it, for people to read. Its value is `text` or, if `text` is
 * NULL, `number`. The strings are valid while the device exists. */
typedef struct kdl_property {
  const char* name;
  const char* text;
  int64_t number;
} kdl_property;

/* Stores at most `capacity` properties of a device and returns how many there are; many kinds have none. */
int64_t kdl_device_get_properties(const kdl_device* device, kdl_property* properties,
                                  int64_t capacity);

/* The bytes that one cause moved between one pair of devices. The strings live until the context is
 * destroyed. */
typedef struct kdl_transfer {
  const char* cause;
  const char* from;   /* the URI of the source device */
  const char* to;     /* the URI of the target device */
  const char* tensor; /* the name of the receiving buffer, or of the source if that has none */
  int64_t count;
  int64_t bytes;
} kdl_transfer;

/* Stores at most `capacity` transfers, ordered by from, to, tensor and cause, and returns how many there are. */
int64_t kdl_context_get_transfers(const kdl_context* context, kdl_transfer* transfers,
                                  int64_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
