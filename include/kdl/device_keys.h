/* The keys that a device spec accepts at run time, for each kind that comes with the runtime, separated by
 * spaces. A compile target has further keys, which change the generated code. */
#pragma once

#define KDL_HOST_KEYS "threads cpus pin resident spin isa"
#define KDL_DEBUG_KEYS "seed threads resident isa guard"
#define KDL_OPENCL_KEYS ""
#define KDL_CUDA_KEYS ""
#define KDL_OWN_CLUSTER_KEYS "clusters deadline events"
#define KDL_CLUSTER_KEYS KDL_OWN_CLUSTER_KEYS " description"
/* The keys of the interpreter when it is used as a device. */
#define KDL_INTERPRETER_KEYS "sanitize seed cores features locate"
