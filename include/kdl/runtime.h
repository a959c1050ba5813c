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
 * Memory that is too short is KDL_ERROR_OUT_OF_MEMORY, also of what runs on other threads.
 *
 * A process that was forked has contexts of its own: on one of its parent's, functions fail there with
 * KDL_ERROR_UNSUPPORTED, and those that free do nothing.
 *
 * Strings are UTF-8 and copied. Sizes and offsets are in elements where a name says so, else in
 * bytes.
 *
 * Operations on a queue take `after`: `after_count` events (NULL entries are skipped) that must
 * complete first, and `done`: NULL, or where an event for the operation is stored, which the caller
 * frees. They check their arguments before any effect and report what is wrong there and then; what
 * goes wrong later comes out of the event and of kdl_queue_wait. */
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

/* Results are defined for rounding to nearest, with subnormal numbers, and no exception ends the process. All that the
 * runtime does has that state, the application's functions that it calls included, whichever state the caller has, who
 * keeps it. Compiled programs compute between these two: the first sets the state of this thread and gives the caller's,
 * which the second sets again. */
uint64_t kdl_float_enter(void);
void kdl_float_leave(uint64_t before);

/* ---- statistics ---- */

/* Where the environment names a file in KDL_TRACE, a context writes there, when it is destroyed, what ran when, for
 * the viewers of Chrome and Perfetto: a row a queue, a row a core of devices that tell, a row a stage of a core with what
 * it waited for at pipes. */

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

/* What a kind of device counts of itself, such as bytes that its kernels moved between its memories. */
typedef struct kdl_count {
  const char* name; /* lives as long as the device */
  int64_t value;
} kdl_count;

/* The name of what devices count that have a clock of their own: how long kernels have run. */
#define KDL_COUNT_KERNEL_TIME "nanoseconds in kernels since first asked"

/* Counts of a device since the context was made; what takes time to be measured, such as how long kernels take by the
 * device's own clock, since this was first called. Stores at most `capacity` of them and returns how many there are. */
int64_t kdl_device_get_counts(const kdl_device* device, kdl_count* counts, int64_t capacity);

/* What a device is, as its driver says, for people to read: a text, or, where that is NULL, a number. */
typedef struct kdl_property {
  const char* name; /* the strings live as long as the device */
  const char* text;
  int64_t number;
} kdl_property;

/* Properties of a device, none of many kinds. Stores at most `capacity` of them and returns how many there are. */
int64_t kdl_device_get_properties(const kdl_device* device, kdl_property* properties,
                                  int64_t capacity);

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

/* The transfers so far, ordered by from, to, tensor and cause: stores at most `capacity` of them and
 * returns how many there are. */
int64_t kdl_context_get_transfers(const kdl_context* context, kdl_transfer* transfers,
                                  int64_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
