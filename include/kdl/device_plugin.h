/* What a kind of device implements. Every device goes through this interface, the built-in ones
 * too.
 *
 * The runtime calls `open` once for each device that is selected. It orders operations by queue and
 * event and starts one only when all that it waits for has completed, so a device never sees an
 * operation too early; it may see several of different queues at once. An operation reports its end
 * by calling its completion once, from any thread, before or after it returns. What the runtime has
 * checked before (devices, ranges, types, overlaps) is not checked again. */
#pragma once

#include "kdl/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KDL_PLUGIN_VERSION 1u

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
} kdl_memory_ops;

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
  /* Runs the kernel on request->core_num cores; a trap is an error from kdl_error_from_trap. */
  void (*launch)(void* device, const kdl_launch_request* request, kdl_completion done);
} kdl_device_ops;

/* Makes a kind of device known to the context. `ops` must outlive the context; a kind that is
 * already there is refused. */
kdl_error* kdl_context_add_device_kind(kdl_context* context, const kdl_device_ops* ops,
                                       void* kind_context);

/* The error that tells of a trap in the words of its location. */
kdl_error* kdl_error_from_trap(const kdl_kernel* kernel, const kdl_variant* variant,
                               const kdl_trap* trap);

#ifdef __cplusplus
}
#endif
