/* The keys that a device spec may have at run time, of each kind that comes with the runtime, separated by spaces. What
 * compiles for a device knows those of its own besides, which change the code. */
#pragma once

#define KDL_HOST_KEYS "threads cpus pin resident isa"
#define KDL_DEBUG_KEYS "seed threads resident isa guard"
#define KDL_OPENCL_KEYS ""
#define KDL_CUDA_KEYS ""
#define KDL_OWN_CLUSTER_KEYS "clusters deadline events"
#define KDL_CLUSTER_KEYS KDL_OWN_CLUSTER_KEYS " description"
/* Of the interpreter, where it is the device. */
#define KDL_INTERPRETER_KEYS "watch seed cores features"
