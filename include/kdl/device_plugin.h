/* The interface that a kind of device implements. Every device is accessed through it, including the
 * built-in ones.
 *
 * The runtime calls `open` once for each device that is selected. When an operation ends, the device calls
 * the completion of that operation once, from any thread, before or after the function that started the
 * operation returns. The runtime has already checked the arguments of operations: their devices, ranges, types
 * and overlaps. A device need not check them again.
 *
 * A device that does not order operations provides `launch`, and `memory` if it has its own memory. The
 * runtime starts an operation on one of its threads only when everything that it waits for has completed, so
 * the device never receives an operation too early. It may receive operations from different queues
 * concurrently.
 *
 * A device with queues of its own also provides `submit` and gets operations as soon as they are enqueued. With
 * `accepts`, it gets only those launches in this way that it accepts. With `wait`, it need not notice by itself
 * that an operation has ended.
 *
 * Structs start with their size and version. A plugin of an older version works with a newer runtime,
 * which reads fields beyond the given size as 0.
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

/* Reports the end of an operation. The device must call it once, with NULL or with an error. Ownership of
 * the error passes to the runtime. */
typedef struct kdl_completion {
  void (*call)(void* context, kdl_error* error);
  void* context;
} kdl_completion;

/* Memory of a device: the device's own handle, and the address that kernels see for byte 0. */
typedef struct kdl_memory {
  void* handle;
  void* address;
} kdl_memory;

/* Contiguous runs of bytes, visited by nested loops. All values are in bytes: run (i, j, …) starts i *
 * step[0] + j * step[1] + … after the offset. The entries of `count` and `run_bytes` are at least 1. The last
 * index varies fastest. */
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

/* Receives the times at which the workers of a device were busy or waiting, in nanoseconds of the steady
 * clock. `waited` reports that `stage` of the worker's core waited at the pipe that `location` of the variant
 * names. If `stage` is -1, the whole core waited at a barrier. The functions are called from any thread while
 * the launch runs. Worker -1 is the whole device, timed by the device's own clock, for devices that do not
 * know when each core is busy. `ran_block` reports block number `block` of a core, in a stage or, if `stage` is
 * -1, outside of stages; only kernels that were compiled to be observed have it called. `ran` reports
 * anything else that the device knows about its parts: `part` names the part, such as "cluster 2 copies", and
 * `what` what it did, such as a copy of `bytes` bytes. A `what` that begins with "waits" is a wait. */
typedef struct kdl_observer {
  uint32_t size;    /* sizeof(kdl_observer) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  void (*busy)(void* context, int32_t worker, int64_t begin_ns, int64_t end_ns);
  void* context;
  void (*waited)(void* context, int32_t worker, int32_t stage, int32_t location, int64_t begin_ns,
                 int64_t end_ns);
  void (*ran_block)(void* context, int32_t worker, int32_t stage, int64_t core, int64_t block,
                    int64_t begin_ns, int64_t end_ns);
  void (*ran)(void* context, const char* part, const char* what, int64_t begin_ns, int64_t end_ns,
              int64_t bytes);
} kdl_observer;

/* A launch. All its members stay valid until the completion is called. */
typedef struct kdl_launch_request {
  uint32_t size;    /* sizeof(kdl_launch_request) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  const kdl_image* image;
  const kdl_kernel* kernel;
  const kdl_variant* variant;
  void* module;               /* the result of `load` for the image */
  const kdl_args* args;       /* with device addresses */
  const kdl_memory* memories; /* one for each tensor, in order */
  int32_t tensor_count;
  int32_t queue; /* index of the queue */
  int64_t core_num;
  int64_t busy_cores;  /* 1 to core_num; cores with this index or a higher one need not run */
  int64_t instances;   /* number of workspace slices, which are numbered from 0 to instances - 1 */
  void* workspace;     /* device address of `instances` slices of slice_bytes each */
  int64_t slice_bytes; /* footprint_bytes rounded up to KDL_SCRATCH_ALIGNMENT */
  void* shared;        /* device address of kdl_launch.shared */
  /* What the cores share if their code runs in this process. The device sets `claims`, and also `shared` if
   * the kernel sees other addresses. `stop` is also set when the launch is cancelled. The launch then fails
   * as cancelled, whatever result the device reports. */
  kdl_launch* launch;
  const kdl_observer* observer; /* NULL if the launch is not observed */
  void* prepared; /* NULL, or the result of `prepare`; absent in older versions of the struct */
} kdl_launch_request;

/* The operations of a device with its own memory. All offsets are inside the memory. */
typedef struct kdl_memory_ops {
  uint32_t size;    /* sizeof(kdl_memory_ops) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  /* Allocates memory. `bytes` is at least 1, and the result is aligned to 64 bytes. `name` is for
   * messages, and is valid only during the call. */
  kdl_error* (*allocate)(void* device, int64_t bytes, const char* name, kdl_memory* memory);
  void (*release)(void* device, kdl_memory memory);
  /* `write` copies from host memory to the device, `read` from the device to host memory, and `copy` within
   * the device. */
  void (*write)(void* device, kdl_memory to, const void* from, const kdl_region* region,
                kdl_completion done);
  void (*read)(void* device, void* to, kdl_memory from, const kdl_region* region,
               kdl_completion done);
  void (*copy)(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
               kdl_completion done);
  /* Repeats the low `pattern_bytes` (1, 2, 4 or 8) of `pattern` over each run; from_offset is not used. */
  void (*fill)(void* device, kdl_memory to, const kdl_region* region, uint64_t pattern,
               int32_t pattern_bytes, kdl_completion done);
  /* Copies directly from the memory of `peer`, another device of this kind, without going through the
   * host. NULL if unsupported; absent in older versions of the struct. */
  void (*copy_from)(void* device, kdl_memory to, void* peer, kdl_memory from,
                    const kdl_region* region, kdl_completion done);
  /* Makes memory usable that the application has allocated with the device's driver: `bytes` bytes, at least
   * 1, at a device address. The runtime never releases it. The error says why the address is not in the
   * device's memory. NULL if unsupported; absent in older versions of the struct. */
  kdl_error* (*adopt)(void* device, void* address, int64_t bytes, kdl_memory* memory);
} kdl_memory_ops;

/* The kind of a submission. */
enum kdl_submission_kind {
  KDL_SUBMIT_LAUNCH = 1, /* runs `launch` */
  KDL_SUBMIT_WRITE = 2,  /* copies `host_from` to `to` */
  KDL_SUBMIT_READ = 3,   /* copies `from` to `host_to` */
  KDL_SUBMIT_COPY = 4,   /* copies `from` to `to` */
  KDL_SUBMIT_FILL = 5,   /* fills `to` with `pattern` */
  KDL_SUBMIT_FOLLOW = 6  /* waits for the work that `mark` notes, and frees the mark */
};

/* Whether a device accepts a launch through `submit`. */
enum kdl_acceptance {
  KDL_REFUSES = 0,      /* the launch goes to `launch` */
  KDL_ACCEPTS_LAST = 1, /* nothing may follow before it has ended, since it may fail */
  KDL_ACCEPTS = 2
};

/* Identifies the completion of operation `number` of a queue of the same device. */
typedef struct kdl_point {
  int32_t queue;
  int32_t reserved0;
  uint64_t number;
} kdl_point;

/* An operation for a device that orders operations itself. The device starts it when all points of `after`
 * have been reached, some of which may be in the past. If one of those operations failed, or was a launch
 * that was stopped, this operation does not run. It must then fail with any error, after the completion of
 * the failed operation has returned. Everything in a submission stays valid until `done` is called.
 * Operations of one queue have ascending numbers and complete in that order; an earlier operation that still
 * runs is among the points. */
typedef struct kdl_submission {
  uint32_t size;    /* sizeof(kdl_submission) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  int32_t kind;
  int32_t queue;
  uint64_t number;
  const kdl_point* after;
  int32_t after_count;
  int32_t pattern_bytes; /* the length of the pattern of a fill, as in kdl_memory_ops */
  uint64_t pattern;
  const kdl_launch_request* launch;
  kdl_memory to;
  kdl_memory from;
  void* host_to;
  const void* host_from;
  const kdl_region* region;
  kdl_completion done;
  void* mark; /* the result of kdl_device_ops.mark; absent in older versions of the struct */
} kdl_submission;

typedef struct kdl_device_ops {
  uint32_t size;    /* sizeof(kdl_device_ops) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  const char* kind; /* the kind in a device spec */
  /* NULL if the device works in host memory, which the runtime allocates and copies itself. */
  const kdl_memory_ops* memory;
  /* Opens device `ordinal`. The error says why this is not possible: no such device (and how many there
   * are), an unknown key (and the known ones), or a bad value. */
  kdl_error* (*open)(void* kind_context, int64_t ordinal, const kdl_option* options,
                     int32_t option_count, void** device);
  /* Closes the device. Called after all operations on the device have ended and its memory has been
   * released. */
  void (*close)(void* device);
  void (*facts)(void* device, kdl_device_facts* facts);
  /* Load and unload an image. `load` is called before the first launch from the image. Both are NULL if
   * there is nothing to do. */
  kdl_error* (*load)(void* device, const kdl_image* image, void** module);
  void (*unload)(void* device, void* module);
  /* Runs the kernel on request->core_num cores. A trap becomes an error with kdl_error_from_trap; the
   * device may append which of its workers trapped. */
  void (*launch)(void* device, const kdl_launch_request* request, kdl_completion done);
  /* Accepts an operation and returns immediately. May be NULL. If this function is provided without
   * `accepts`, it receives all launches, and `launch` may be NULL. Whatever the queues do not order (maps, and copies that another
   * device's queue orders) still goes through `memory`. */
  void (*submit)(void* device, const kdl_submission* submission);
  /* The kind of images that devices of this kind run, as in kdl_device_facts. kernelc compiles for this kind
   * of image. NULL means "host". */
  const char* image_kind;
  /* Returns the device's own counters, as kdl_device_get_counts does. May be NULL. May be called at any
   * time. */
  int64_t (*counts)(void* device, kdl_count* counts, int64_t capacity);
  /* Returns the device's properties, as kdl_device_get_properties does. May be NULL. May be called at any
   * time. */
  int64_t (*properties)(void* device, kdl_property* properties, int64_t capacity);
  /* Reserves what launches of this request need, such as memory, so that each of them takes less time. They
   * run one after another, with the result in `prepared`. `discard` frees it. Both are NULL if there is
   * nothing to reserve; they are absent in older versions of the struct. */
  kdl_error* (*prepare)(void* device, const kdl_launch_request* request, void** prepared);
  void (*discard)(void* device, void* prepared);
  /* Returns the number of cores for a launch of this variant that states none (KDL_CORES_AUTO), or 0 for
   * kdl_device_facts.cores. `module` is the result of `load` for the variant's image. Called only for
   * variants with `busy_cores`, whose results must not depend on the number. NULL if all kernels use the same
   * number; absent in older versions of the struct. */
  int64_t (*cores)(void* device, void* module, const kdl_variant* variant, const kdl_args* args);
  /* Returns a kdl_acceptance, and prepares what `submit` needs for this launch. If this function is provided,
   * `submit` receives only launches that it has accepted, and everything else goes to `launch` and `memory`
   * when everything that it waits for has completed. NULL if `submit` receives all operations; absent in
   * older versions of the struct. */
  int32_t (*accepts)(void* device, const kdl_launch_request* request);
  /* Returns when the queue's operation `number`, and all before it, have ended and their completions have
   * been called. If this function is provided, the device need not call a completion before somebody waits
   * for it in this way, and waits of `submit` name only operations of the same queue. May be called by
   * several threads at once. NULL if completions are called without it; absent in older versions of the
   * struct. */
  void (*wait)(void* device, int32_t queue, uint64_t number);
  /* `mark` notes the work that a stream of the device's driver contains at present, or stores NULL if it
   * contains none. The mark becomes part of a KDL_SUBMIT_FOLLOW, which `submit` accepts like a launch that
   * cannot fail, or `unmark` frees it. `lead` makes work that the stream gets later start after everything
   * that the queue has received by `submit`. All three are NULL if the driver has no streams; they are absent
   * in older versions of the struct. */
  kdl_error* (*mark)(void* device, void* stream, void** mark);
  void (*unmark)(void* device, void* mark);
  kdl_error* (*lead)(void* device, int32_t queue, void* stream);
} kdl_device_ops;

/* Registers a kind of device with the context. The structs are copied; a kind that already exists is
 * refused. */
kdl_error* kdl_context_add_device_kind(kdl_context* context, const kdl_device_ops* ops,
                                       void* kind_context);

/* Loads the plugin at `path` if it is not loaded yet. Stores the kind of images that its devices run. The
 * string is valid while the context exists. */
kdl_error* kdl_context_plugin_image_kind(kdl_context* context, const char* path,
                                         const char** image_kind);

/* Creates the error that describes a trap, with its source location. No argument may be NULL. */
kdl_error* kdl_error_from_trap(const kdl_kernel* kernel, const kdl_variant* variant,
                               const kdl_trap* trap);

/* The functions of the runtime that a plugin may call, under the same names. */
typedef struct kdl_plugin_host {
  uint32_t size;    /* sizeof(kdl_plugin_host) */
  uint32_t version; /* KDL_PLUGIN_VERSION */
  kdl_error* (*error_create)(kdl_code code, const char* message);
  void (*error_free)(kdl_error* error);
  kdl_error* (*error_from_trap)(const kdl_kernel* kernel, const kdl_variant* variant,
                                const kdl_trap* trap);
  /* The architecture and features of this machine's processor, as in kdl_device_facts, for devices that
   * run code in this process. */
  const char* arch;
  uint64_t features;
} kdl_plugin_host;

/* The type of the function `kdl_device_plugin` of a shared object. `host` stays valid while the object is
 * loaded. The function returns NULL if the plugin cannot work with this host. */
typedef const kdl_device_ops* (*kdl_device_plugin_fn)(const kdl_plugin_host* host);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
