/* Between the host, the clusters of a machine of clusters (targets/cluster, runtime/cluster) and the images that run there. C++20,
 * for freestanding code too.
 *
 * A cluster sees the device's global memory; all places in it are offsets, as each side maps it where it likes. The host tells a
 * cluster of work by a byte through a socket, and gets one back; what there is to say stands in the cluster's mailbox, which lies in
 * global memory. Whoever reads the mailbox behind a byte sees what was written in front of it.
 *
 * An image defines the table `kdl_cluster_entries`, which ends with a null name. */
#pragma once

#include <stdint.h>

// clang-format off
#define KDL_CLUSTER_MAILBOX(FIELD)                                                                  \
  FIELD(uint64_t, memory_bytes)      /* of global memory */                                         \
  FIELD(uint64_t, scratchpad_bytes)  /* of each cluster */                                          \
  FIELD(uint64_t, stack_bytes)       /* of each worker */                                           \
  FIELD(uint64_t, workers)           /* of a core, at most: so many processors has it */            \
  FIELD(uint64_t, workgroups)             /* so many parts has a scratchpad: of cores that run side by side */\
  FIELD(uint64_t, polls)             /* 1: nobody rings a bell: `number` and `done` are looked at */  \
  FIELD(uint64_t, cluster)           /* which one this is */                                        \
  FIELD(uint64_t, clusters)          /* how many there are */                                       \
  FIELD(uint64_t, call)              /* where the kdl_cluster_call is */                            \
  FIELD(uint64_t, number)            /* of the call, from 1 */                                      \
  FIELD(uint64_t, done)              /* the cluster's: number of the last call that has ended */    \
  FIELD(uint64_t, status)            /* the cluster's: a kdl_cluster_status */                      \
  FIELD(uint64_t, heartbeat)         /* the cluster's: another number whenever it gets on */          \
  FIELD(uint64_t, copied_bytes)      /* the cluster's: that block copies have moved since it booted */\
  FIELD(uint64_t, copies)            /* the cluster's: block copies, of one dimension or two */       \
  FIELD(uint64_t, barriers)          /* the cluster's: at which all workers of a core have met */     \
  FIELD(uint64_t, scratchpad_peak)   /* the cluster's: bytes of the kernel that takes most */         \
  FIELD(uint64_t, events)            /* where its events go; 0: nowhere */                            \
  FIELD(uint64_t, most_events)       /* the first ones of a call */                                   \
  FIELD(uint64_t, event_count)       /* the cluster's: of the call, noted or not */                   \
  FIELD(uint64_t, fault)             /* the cluster's: a kdl_cluster_fault: what has ended it */      \
  FIELD(uint64_t, fault_address)     /* the cluster's: what was touched; as the next ones, of a fault */ \
  FIELD(uint64_t, fault_instruction) /* where it lies, as linked */                                 \
  FIELD(uint64_t, fault_core)                                                                       \
  FIELD(uint64_t, fault_worker)

/* Behind it the launch's numbers (workgroup_abi.h), the offsets of the memories that a kernel takes, 8 bytes each, and the name of the
 * entry. */
#define KDL_CLUSTER_CALL(FIELD)                                                                     \
  FIELD(uint64_t, cores)             /* cluster c runs cores c, c + clusters, … of them */          \
  FIELD(uint64_t, number_count)                                                                     \
  FIELD(uint64_t, memory_count)

/* Something that a cluster has done, in the order in which it did. */
#define KDL_CLUSTER_EVENT(FIELD)                                                                    \
  FIELD(uint64_t, kind)              /* a kdl_cluster_event_kind */                                 \
  FIELD(uint64_t, core)              /* of the call */                                              \
  FIELD(uint64_t, number)            /* of the copy or barrier, in the core's run */

#define KDL_CLUSTER_WORKER(FIELD)                                                                   \
  FIELD(uint64_t, core)              /* of the call */                                              \
  FIELD(uint64_t, worker)            /* of the core */                                              \
  FIELD(char*, memory)               /* where global memory begins */                               \
  FIELD(char*, scratchpad)                                                                          \
  FIELD(kdl_cluster_wait*, wait)     /* for all workers; whether one of them has told other than 0 */ \
  FIELD(kdl_cluster_copy*, copy)     /* begins a block copy */                                        \
  FIELD(kdl_cluster_await*, await)   /* for all block copies from or to these bytes */

#define KDL_CLUSTER_ENTRY(FIELD)                                                                    \
  FIELD(const char*, name)                                                                          \
  FIELD(kdl_cluster_kernel*, kernel)                                                                \
  FIELD(uint64_t, workers)           /* of a core */                                                \
  FIELD(uint64_t, scratchpad_bytes)
// clang-format on

struct kdl_cluster_worker;
typedef uint32_t kdl_cluster_wait(kdl_cluster_worker* worker, uint32_t told);
typedef void kdl_cluster_copy(kdl_cluster_worker* worker, char* to, const char* from,
                              uint64_t row_bytes, uint64_t rows, int64_t to_stride,
                              int64_t from_stride);
typedef void kdl_cluster_await(kdl_cluster_worker* worker, const char* scratchpad, uint64_t bytes);
typedef void kdl_cluster_kernel(const int64_t* numbers, const int64_t* memories,
                                kdl_cluster_worker* worker);

enum kdl_cluster_status : uint64_t {
  kdl_cluster_none = 0, /* it has not booted */
  kdl_cluster_ready = 1,
  kdl_cluster_no_entry = 2,      /* the image has no entry of the call's name */
  kdl_cluster_no_scratchpad = 3, /* the kernel wants more than there is */
  kdl_cluster_no_workers = 4     /* the kernel is for more of them than there are */
};

enum kdl_cluster_fault : uint64_t {
  kdl_cluster_no_fault = 0,
  kdl_cluster_beyond_scratchpad = 1, /* fault_address: its distance from the scratchpad's start */
  kdl_cluster_beyond_stack = 2,      /* of the worker */
  kdl_cluster_no_memory = 3,         /* at the address there is none */
  kdl_cluster_bad_instruction = 4
};

enum kdl_cluster_event_kind : uint64_t {
  kdl_cluster_core_begins = 1,
  kdl_cluster_core_ends = 2,
  kdl_cluster_copy_begins = 3,
  kdl_cluster_copy_ends = 4,
  kdl_cluster_copy_awaited = 5, /* somebody waits for it, and it has not ended yet */
  kdl_cluster_barrier = 6
};

#define KDL_CLUSTER_FIELD(type, name) type name;
struct kdl_cluster_mailbox {
  uint64_t abi_hash; /* the cluster's, at the same place in all versions */
  KDL_CLUSTER_MAILBOX(KDL_CLUSTER_FIELD)
};
struct kdl_cluster_call {
  KDL_CLUSTER_CALL(KDL_CLUSTER_FIELD)
};
struct kdl_cluster_event {
  KDL_CLUSTER_EVENT(KDL_CLUSTER_FIELD)
};
struct kdl_cluster_worker {
  KDL_CLUSTER_WORKER(KDL_CLUSTER_FIELD)
};
struct kdl_cluster_entry {
  KDL_CLUSTER_ENTRY(KDL_CLUSTER_FIELD)
};
#undef KDL_CLUSTER_FIELD

/* FNV-1a, 64 bits, of all that both sides have to see alike. */
consteval uint64_t kdl_cluster_hash(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != 0; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return hash;
}

#define KDL_CLUSTER_TEXT(type, name) #type " " #name ";"
inline constexpr uint64_t kdl_cluster_abi_hash = kdl_cluster_hash(
    "4{" KDL_CLUSTER_MAILBOX(KDL_CLUSTER_TEXT) "}{" KDL_CLUSTER_CALL(KDL_CLUSTER_TEXT) "}{"
    KDL_CLUSTER_EVENT(KDL_CLUSTER_TEXT) "}{" KDL_CLUSTER_WORKER(KDL_CLUSTER_TEXT) "}{" KDL_CLUSTER_ENTRY(KDL_CLUSTER_TEXT) "}");
#undef KDL_CLUSTER_TEXT
