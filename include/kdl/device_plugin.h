/* What a kind of device implements. Every device goes through this interface, the built-in ones
 * too.
 *
 * The runtime calls `open` once for each device that is selected. An operation reports its end by calling its
 * completion once, from any thread, before or after it returns. What the runtime has checked before
 * (devices, ranges, types, overlaps) is not checked again.
 *
 * A device that orders nothing itself gives `launch`, and `memory` where it has its own: the runtime starts an
 * operation only when all that it waits for has completed, on a thread of the runtime, so the device never
 * sees one too early; it may see several of different queues at once.
 *
 * A device with queues of its own gives `submit`, too, and gets operations as soon as they are given.
 *
 * Tables start with their size and version: a plugin of an older version works with a newer runtime, which
 * takes what is beyond its size for 0.
 *
 * A shared object with a device defines `kdl_device_plugin` and is loaded by a device spec,
 * `plugin:PATH?key=value`. */
#pragma once

#include "kdl/kernel_abi.h"
#include "kdl/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define KDL_PLUGIN_VERSION 2u

/* One `key=value` of a device spec. */
typedef struct kdl_option {
  const char* key;
  const char* value;
} kdl_option;

/* Call once with NULL, or with an error, which is given away. */
typedef struct kdl_completion {
  void (*call)(void* context, kdl_error* error);
  void* context;
} kdl_completion;

/* Memory of a device: the device's own handle, and the address that kernels see for byte 0. */
typedef struct kdl_memory {
  void* handle;
  void* address;
} kdl_memory;

/* Contiguous runs in nested loops, all in bytes: run (i, j, …) starts i * step[0] + j * step[1] + …
 * after the offset. `count` entries are 1 or more and `run_bytes` too. The last index is the
 * fastest. */
typedef struct kdl_region {
  int64_t to_offset;
  int64_t from_offset;
  int64_t run_bytes;
  int32_t rank;
  int32_t reserved0;
  int64_t count[8];
  int64_t to_step[8];
  int64_t from_step[8];
} kdl_region;

/* Told, where somebody looks, which worker of a device was busy from when to when, in nanoseconds of the steady
 * clock, and what it waited for: `stage` of its core at the pipe that `location` of the variant names, or, with a stage
 * of -1, all of it for the others at a barrier. From any thread while the launch runs. Worker -1 is the device as a
 * whole, busy as long as its own clock says, where nobody knows when each of its cores is. */
typedef struct kdl_observer {
  uint32_t size;    /* sizeof(kdl_observer) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  void (*busy)(void* context, int32_t worker, int64_t begin_ns, int64_t end_ns);
  void* context;
  void (*waited)(void* context, int32_t worker, int32_t stage, int32_t location, int64_t begin_ns,
                 int64_t end_ns);
} kdl_observer;

/* A launch. Everything in it lives until the completion is called. */
typedef struct kdl_launch_request {
  uint32_t size;    /* sizeof(kdl_launch_request) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  const kdl_image* image;
  const kdl_kernel* kernel;
  const kdl_variant* variant;
  void* module;               /* what `load` gave for the image */
  const kdl_args* args;       /* with the device's addresses */
  const kdl_memory* memories; /* of the tensors, in their order */
  int32_t tensor_count;
  int32_t queue; /* index of the queue */
  int64_t core_num;
  int64_t busy_cores;  /* 1 to core_num: the cores from this number on need not be run */
  int64_t instances;   /* slices of workspace: slots run from 0 to instances - 1 */
  void* workspace;     /* the device's address: `instances` slices, each slice_bytes */
  int64_t slice_bytes; /* footprint_bytes rounded up to KDL_SCRATCH_ALIGNMENT */
  void* shared;        /* the device's address of kdl_launch.shared */
  /* What the cores share, where code runs in this process: the device sets `claims`, and `shared` where
   * the kernel's addresses are others. `stop` is set, too, when the launch is cancelled: whatever the
   * device completes it with then, it has failed as cancelled. */
  kdl_launch* launch;
  const kdl_observer* observer; /* NULL: nobody looks */
} kdl_launch_request;

/* Memory of its own. All offsets lie inside the memory. */
typedef struct kdl_memory_ops {
  uint32_t size;    /* sizeof(kdl_memory_ops) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  /* `bytes` is 1 or more; aligned to 64; `name` is for messages and only lives during the call. */
  kdl_error* (*allocate)(void* device, int64_t bytes, const char* name, kdl_memory* memory);
  void (*release)(void* device, kdl_memory memory);
  /* From host memory, to host memory, and within the device. */
  void (*write)(void* device, kdl_memory to, const void* from, const kdl_region* region,
                kdl_completion done);
  void (*read)(void* device, void* to, kdl_memory from, const kdl_region* region,
               kdl_completion done);
  void (*copy)(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
               kdl_completion done);
  /* Repeats the low `pattern_bytes` (1, 2, 4 or 8) of `pattern` over each run; `from` is unused. */
  void (*fill)(void* device, kdl_memory to, const kdl_region* region, uint64_t pattern,
               int32_t pattern_bytes, kdl_completion done);
  /* NULL, or from the memory of another device of this kind, `peer`, without the host between them; in older tables
   * there is none. */
  void (*copy_from)(void* device, kdl_memory to, void* peer, kdl_memory from,
                    const kdl_region* region, kdl_completion done);
} kdl_memory_ops;

/* What a submission is. */
enum kdl_submission_kind {
  KDL_SUBMIT_LAUNCH = 1, /* `launch` */
  KDL_SUBMIT_WRITE = 2,  /* host_from to `to` */
  KDL_SUBMIT_READ = 3,   /* `from` to host_to */
  KDL_SUBMIT_COPY = 4,   /* `from` to `to` */
  KDL_SUBMIT_FILL = 5    /* `pattern` to `to` */
};

/* That operation `number` of a queue of the same device has completed. */
typedef struct kdl_point {
  int32_t queue;
  int32_t reserved0;
  uint64_t number;
} kdl_point;

/* An operation for a device that orders them itself; the device begins it when all points of `after` have been
 * reached. Where one of these operations failed, or was a launch that was stopped, it does not run and fails, too,
 * with any error, after the other's completion has returned. A point may lie in the past. Everything in it lives until `done` is called.
 * Operations of one queue come with ascending numbers and complete in that order; one in front that still
 * runs is among the points. */
typedef struct kdl_submission {
  uint32_t size;    /* sizeof(kdl_submission) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  int32_t kind;
  int32_t queue;
  uint64_t number;
  const kdl_point* after;
  int32_t after_count;
  int32_t pattern_bytes; /* of a fill, as there */
  uint64_t pattern;
  const kdl_launch_request* launch;
  kdl_memory to;
  kdl_memory from;
  void* host_to;
  const void* host_from;
  const kdl_region* region;
  kdl_completion done;
} kdl_submission;

typedef struct kdl_device_ops {
  uint32_t size;    /* sizeof(kdl_device_ops) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  const char* kind; /* the word of a device spec */
  /* NULL: the device works in host memory, which the runtime then allocates and copies itself. */
  const kdl_memory_ops* memory;
  /* Opens device `ordinal`. Refuses with the reason: no such device (say how many there are), an
   * unknown key (say which there are), a bad value. */
  kdl_error* (*open)(void* kind_context, int64_t ordinal, const kdl_option* options,
                     int32_t option_count, void** device);
  /* Called when nothing runs on it any more and its memory has been released. */
  void (*close)(void* device);
  void (*facts)(void* device, kdl_device_facts* facts);
  /* Before the first launch from an image; both NULL where there is nothing to do. */
  kdl_error* (*load)(void* device, const kdl_image* image, void** module);
  void (*unload)(void* device, void* module);
  /* Runs the kernel on request->core_num cores; a trap is an error from kdl_error_from_trap, behind
   * whose words a device may say which of its workers it was. */
  void (*launch)(void* device, const kdl_launch_request* request, kdl_completion done);
  /* NULL, or takes an operation and returns at once; a launch comes here then, and `launch` may be NULL. What
   * the queues do not order (maps; copies that another device's queue orders) still comes through `memory`. */
  void (*submit)(void* device, const kdl_submission* submission);
  /* The kind of images that its devices take, as in kdl_device_facts: what kernelc makes for them. NULL: "host". */
  const char* image_kind;
  /* NULL, or gives what the device counts of itself, as kdl_device_get_counts does. At any time. */
  int64_t (*counts)(void* device, kdl_count* counts, int64_t capacity);
  /* NULL, or says what the device is, as kdl_device_get_properties does. At any time. */
  int64_t (*properties)(void* device, kdl_property* properties, int64_t capacity);
} kdl_device_ops;

/* Makes a kind of device known to the context. The tables are copied; a kind that is already there is
 * refused. */
kdl_error* kdl_context_add_device_kind(kdl_context* context, const kdl_device_ops* ops,
                                       void* kind_context);

/* Loads the plugin at `path`, where that has not been done, and says which kind of images its devices take; the
 * string lives as long as the context. */
kdl_error* kdl_context_plugin_image_kind(kdl_context* context, const char* path,
                                         const char** image_kind);

/* The error that tells of a trap in the words of its location; none of the arguments is NULL. */
kdl_error* kdl_error_from_trap(const kdl_kernel* kernel, const kdl_variant* variant,
                               const kdl_trap* trap);

/* What a plugin may call of the runtime that loads it: the functions of the same names. */
typedef struct kdl_plugin_host {
  uint32_t size;    /* sizeof(kdl_plugin_host) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  kdl_error* (*error_create)(kdl_code code, const char* message);
  void (*error_free)(kdl_error* error);
  kdl_error* (*error_from_trap)(const kdl_kernel* kernel, const kdl_variant* variant,
                                const kdl_trap* trap);
  const char* arch;  /* of the processor here, as in kdl_device_facts: */
  uint64_t features; /* for a device that runs code of this process */
} kdl_plugin_host;

/* The function `kdl_device_plugin` of a shared object. `host` stays as long as the object is loaded. NULL: it
 * cannot work with this host. */
typedef const kdl_device_ops* (*kdl_device_plugin_fn)(const kdl_plugin_host* host);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
