/* Helpers for compiled programs in C, NAME.orch.c: the operations of runtime.h, with the first failure kept
 * in a kdl_program. After a failure, the functions have no effect, and return 0, NULL or an empty tensor. A
 * program therefore needs no checks of its own: it continues as written, except that its loops end, and
 * finally returns the failure. `place` is the statement's position in the source, such as "mlp.kdl:12:5".
 * Error messages start with it. Everything here uses only the C interface. The equivalents for C++ are
 * program.hpp and runtime.hpp. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "kdl/runtime.h"
#include "kdl/scalar.h"
#include "kdl/sizes.h"

/* Lists of arguments for the functions below. Each macro expands to two arguments: the elements and their
 * number. */
#define KDL_LIST(type, ...) \
  (type[]){__VA_ARGS__}, (int32_t)(sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define KDL_SIZES(...) KDL_LIST(const int64_t, __VA_ARGS__)
#define KDL_EVENTS(...) KDL_LIST(kdl_event* const, __VA_ARGS__)
#define KDL_ARGS(...) KDL_LIST(const kdl_arg, __VA_ARGS__)

typedef struct kdl_program {
  kdl_context* context;
  kdl_error* error; /* the first failure */
  uint64_t floats;  /* the caller's floating-point state */
} kdl_program;

static inline kdl_program kdl_begin(kdl_context* context) {
  const kdl_program run = {context, NULL, kdl_float_enter()};
  return run;
}
static inline kdl_error* kdl_end(const kdl_program* run) {
  kdl_float_leave(run->floats);
  return run->error;
}

/* ---- failures ---- */

/* Returns whether nothing has failed so far. */
static inline bool kdl_goes(const kdl_program* run) { return run->error == NULL; }

/* Takes ownership of `error`, which may be NULL. If `place` is not NULL, the message is prefixed with it. A message that starts
 * with a position in a launched kernel gets a note instead. */
static inline void kdl_note(kdl_program* run, kdl_error* error, const char* place) {
  if (error == NULL) return;
  if (run->error == NULL && place != NULL) {
    const char* message = kdl_error_message(error);
    const char* note = ": note: it is launched here";
    const size_t bytes = strlen(place) + strlen(note) + strlen(message) + 2;
    char* text = (char*)malloc(bytes);
    if (text != NULL) {
      if (strstr(message, ": error: ") != NULL)
        snprintf(text, bytes, "%s\n%s%s", message, place, note);
      else
        snprintf(text, bytes, "%s: error: %s", place, message);
      run->error = kdl_error_create(kdl_error_code(error), text);
      free(text);
    }
  }
  if (run->error == NULL) {
    run->error = error;
  } else {
    kdl_error_free(error);
  }
}

/* Records an error of the program itself; `format` is as for printf. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static inline void
kdl_stop(kdl_program* run, kdl_code code, const char* place, const char* format, ...) {
  if (!kdl_goes(run)) return;
  va_list words;
  va_start(words, format);
  va_list again;
  va_copy(again, words);
  const int length = vsnprintf(NULL, 0, format, words);
  char* text = length < 0 ? NULL : (char*)malloc((size_t)length + 1);
  if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(words);
  kdl_note(run, kdl_error_create(code, text == NULL ? format : text), place);
  free(text);
}

/* Checks an assertion of the source. Records an error if it fails. */
static inline void kdl_assert(kdl_program* run, bool holds, const char* place, const char* text) {
  if (!holds) kdl_stop(run, KDL_ERROR_TRAP, place, "assertion failed: %s", text);
}

/* Checks that a divisor is not 0. If it is, records an error and returns 1, so that the program can
 * continue. */
#define KDL_DIVISOR(type, T)                                                          \
  static inline T kdl_divisor_##type(kdl_program* run, T divisor, const char* trap) { \
    if (divisor != 0) return divisor;                                                 \
    kdl_stop(run, KDL_ERROR_TRAP, NULL, "%s", trap);                                  \
    return 1;                                                                         \
  }
KDL_DIVISOR(i8, int8_t)
KDL_DIVISOR(i16, int16_t)
KDL_DIVISOR(i32, int32_t)
KDL_DIVISOR(i64, int64_t)
KDL_DIVISOR(u8, uint8_t)
KDL_DIVISOR(u16, uint16_t)
KDL_DIVISOR(u32, uint32_t)
KDL_DIVISOR(u64, uint64_t)
#undef KDL_DIVISOR

/* ---- sizes and loops ---- */

/* Returns a size that sizes.h has computed. Records an error if the size has no value. */
static inline int64_t kdl_extent(kdl_program* run, int64_t size, const char* trap) {
  if (size == KDL_NO_SIZE) kdl_stop(run, KDL_ERROR_TRAP, NULL, "%s", trap);
  return size;
}

enum kdl_compare {
  KDL_EQUAL,
  KDL_NOT_EQUAL,
  KDL_LESS,
  KDL_LESS_EQUAL,
  KDL_GREATER,
  KDL_GREATER_EQUAL
};

/* Checks a `where` clause of the source. In the message, {index} and {bound} are replaced by the values of
 * the two sides. */
static inline void kdl_require(kdl_program* run, int64_t left, enum kdl_compare compare,
                               int64_t right, const char* place, const char* message) {
  const bool holds = compare == KDL_EQUAL        ? left == right
                     : compare == KDL_NOT_EQUAL  ? left != right
                     : compare == KDL_LESS       ? left < right
                     : compare == KDL_LESS_EQUAL ? left <= right
                     : compare == KDL_GREATER    ? left > right
                                                 : left >= right;
  if (holds || !kdl_goes(run)) return;
  const size_t bytes =
      strlen(message) * 4 + 64; /* a placeholder has 7 characters, a number at most 20 */
  char* text = (char*)malloc(bytes);
  size_t length = 0;
  while (text != NULL && *message != '\0') {
    const bool index = strncmp(message, "{index}", 7) == 0;
    if (index || strncmp(message, "{bound}", 7) == 0) {
      length += (size_t)snprintf(text + length, bytes - length, "%lld",
                                 (long long)(index ? left : right));
      message += 7;
    } else {
      text[length++] = *message++;
    }
  }
  if (text != NULL) text[length] = '\0';
  kdl_stop(run, KDL_ERROR_TRAP, place, "%s", text == NULL ? "a 'where' does not hold" : text);
  free(text);
}

/* Returns the step of a loop, which must be positive. */
static inline int64_t kdl_step(kdl_program* run, int64_t step) {
  if (step > 0) return step;
  kdl_stop(run, KDL_ERROR_TRAP, NULL, "step %lld of a loop is not positive", (long long)step);
  return 1;
}

/* Returns the index of the next iteration, or `end` if that index would be beyond `end`. */
static inline int64_t kdl_next(int64_t index, int64_t step, int64_t end) {
  int64_t next;
  return __builtin_add_overflow(index, step, &next) || next > end ? end : next;
}

/* ---- devices and queues ---- */

/* Selects a device. `spec` is the caller's spec. If it is NULL, `own`, the spec in the source, is used. */
static inline kdl_device* kdl_select(kdl_program* run, const char* spec, const char* own) {
  kdl_device* device = NULL;
  if (kdl_goes(run))
    kdl_note(run, kdl_select_device(run->context, spec == NULL ? own : spec, &device), NULL);
  return device;
}

/* Opens a queue handle for this program. The handle sees no failures of other handles, and its own
 * failures do not affect them. */
static inline kdl_queue* kdl_open_queue(kdl_program* run, kdl_device* device, int32_t index) {
  kdl_queue* queue = NULL;
  kdl_queue* own = NULL;
  if (kdl_goes(run)) kdl_note(run, kdl_device_queue(device, index, &queue), NULL);
  if (kdl_goes(run)) kdl_note(run, kdl_queue_own(queue, &own), NULL);
  return own;
}

/* Waits for the operations enqueued through this handle even after a failure, so that none of them
 * outlives the memory that it uses, and frees the handle. */
static inline void kdl_close_queue(kdl_program* run, kdl_queue* queue) {
  if (queue == NULL) return;
  kdl_note(run, kdl_queue_wait(queue), NULL);
  kdl_queue_free(queue);
}

static inline int64_t kdl_cores(kdl_program* run, const kdl_device* device) {
  kdl_device_facts facts;
  memset(&facts, 0, sizeof facts);
  facts.size = sizeof facts;
  if (kdl_goes(run)) kdl_note(run, kdl_device_get_facts(device, &facts), NULL);
  return facts.cores;
}

/* ---- launches ---- */

/* The number of cores of a launch. If a caller passes KDL_CORES_AUTO, the launch uses as many cores as the
 * device runs at once. If the program has computed the number, the value KDL_CORES_AUTO has no special
 * meaning. */
typedef struct kdl_core_num {
  int64_t number;
  bool is_computed;
} kdl_core_num;

static inline kdl_core_num kdl_all_cores(void) {
  const kdl_core_num all = {KDL_CORES_AUTO, false};
  return all;
}
static inline kdl_core_num kdl_on_cores(int64_t number) {
  const kdl_core_num computed = {number, true};
  return computed;
}
static inline bool kdl_has_no_number(kdl_core_num core_num) {
  return core_num.is_computed && core_num.number == KDL_CORES_AUTO;
}

/* Memory for the pipes of kernels that run one after another. It is freed by
 * kdl_buffer_free(workspace.buffer). `name` says whose pipes it contains. */
typedef struct kdl_workspace {
  kdl_device* device;
  const char* name;
  kdl_buffer* buffer;
} kdl_workspace;

static inline void kdl_reserve(kdl_program* run, kdl_workspace* workspace, int64_t instances,
                               int64_t footprint, const char* place) {
  if (!kdl_goes(run)) return;
  kdl_note(run,
           kdl_workspace_reserve(workspace->device, instances, footprint, workspace->name,
                                 &workspace->buffer),
           place);
}

/* Returns the maximum number of workspace slices that a launch on `core_num` cores uses. */
static inline int64_t kdl_instances(const kdl_program* run, const kdl_device* device,
                                    kdl_core_num core_num) {
  if (!kdl_goes(run) || kdl_has_no_number(core_num)) return 0;
  return kdl_device_instances(device, core_num.number);
}

static inline const kdl_function* kdl_find(kdl_program* run, const char* kernel,
                                           const char* place) {
  const kdl_function* function = NULL;
  if (kdl_goes(run)) kdl_note(run, kdl_context_find_kernel(run->context, kernel, &function), place);
  return function;
}

/* Returns the size in bytes of a workspace slice for a kernel. */
static inline int64_t kdl_footprint(kdl_program* run, kdl_device* device, const char* kernel,
                                    const char* place) {
  int64_t bytes = 0;
  const kdl_function* function = kdl_find(run, kernel, place);
  if (kdl_goes(run)) kdl_note(run, kdl_function_footprint(function, device, &bytes), place);
  return bytes;
}

/* `workspace` and `done` may be NULL. */
static inline void kdl_launch(kdl_program* run, kdl_queue* queue, const char* kernel,
                              kdl_core_num core_num, const kdl_arg* args, int32_t arg_count,
                              kdl_event* const* after, int32_t after_count, const char* place,
                              const kdl_workspace* workspace, kdl_event** done) {
  const kdl_function* function = kdl_find(run, kernel, place);
  if (kdl_has_no_number(core_num)) {
    kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, place,
             "launch of '%s': core_num is %lld; a launch runs on 1 core or more", kernel,
             (long long)core_num.number);
  }
  if (!kdl_goes(run)) return;
  kdl_note(
      run,
      kdl_launch_kernel(queue, function, core_num.number, args, arg_count,
                        workspace == NULL ? NULL : workspace->buffer, after, after_count, done),
      place);
}
