/* The interface between the host, the clusters of a cluster machine (targets/cluster, runtime/cluster) and
 * the images that run there. C++20, usable in freestanding code.
 *
 * A cluster sees the device's global memory. Positions in this memory are given as offsets, because each side
 * maps it at an address of its own. To announce work, the host sends a cluster one byte through a socket, and
 * the cluster answers with one byte. The message itself is in the cluster's mailbox in global memory. Whoever
 * reads the mailbox after receiving a byte sees everything that was written before the byte was sent.
 *
 * An image defines the table `kdl_cluster_entries`, terminated by an entry with a null name. */
#pragma once

#include <stdint.h>

// clang-format off
#define KDL_CLUSTER_MAILBOX(FIELD)                                                                  \
  FIELD(uint64_t, memory_bytes)      /* size of global memory */                                    \
  FIELD(uint64_t, scratchpad_bytes)  /* size of each scratchpad */                                  \
  FIELD(uint64_t, stack_bytes)       /* size of the stack of each worker */                         \
  FIELD(uint64_t, workers)           /* number of processors that can be workers of a core */      \
  FIELD(uint64_t, workgroups)             /* parts of a scratchpad; each concurrent core has one */ \
  FIELD(uint64_t, polls)             /* 1 if `number` and `done` are polled instead of a socket */  \
  FIELD(uint64_t, cluster)           /* this cluster's index */                                     \
  FIELD(uint64_t, clusters)          /* the number of clusters */                                   \
  FIELD(uint64_t, call)              /* offset of the kdl_cluster_call */                           \
  FIELD(uint64_t, number)            /* number of the call, from 1 */                               \
  FIELD(uint64_t, done)              /* written by the cluster: number of the last call that has ended */ \
  FIELD(uint64_t, status)            /* written by the cluster: a kdl_cluster_status */             \
  FIELD(uint64_t, heartbeat)         /* written by the cluster: changes whenever it makes progress */ \
  FIELD(uint64_t, copied_bytes)      /* written by the cluster: bytes moved by block copies since boot */ \
  FIELD(uint64_t, copies)            /* written by the cluster: number of block copies, 1D or 2D */ \
  FIELD(uint64_t, barriers)          /* written by the cluster: number of barriers that all workers of a core reached */ \
  FIELD(uint64_t, scratchpad_peak)   /* written by the cluster: maximum number of bytes that a kernel used */ \
  FIELD(uint64_t, events)            /* offset at which events are written; 0 for none */           \
  FIELD(uint64_t, most_events)       /* maximum number of events written for a call */              \
  FIELD(uint64_t, event_count)       /* written by the cluster: number of events of the call, written or not */ \
  FIELD(uint64_t, fault)             /* written by the cluster: the kdl_cluster_fault that ended it */ \
  FIELD(uint64_t, fault_address)     /* written by the cluster: the address that was accessed */    \
  FIELD(uint64_t, fault_instruction) /* written by the cluster: link-time address of the instruction */ \
  FIELD(uint64_t, fault_core)                                                                       \
  FIELD(uint64_t, fault_worker)

/* A call. It is followed by the launch's numbers (see workgroup_abi.h), the offsets of the kernel's
 * memories (8 bytes each), and the name of the entry. */
#define KDL_CLUSTER_CALL(FIELD)                                                                     \
  FIELD(uint64_t, cores)             /* cluster c runs cores c, c + clusters, … */         \
  FIELD(uint64_t, number_count)                                                                     \
  FIELD(uint64_t, memory_count)

/* An event: one step of a cluster. Events are written in the order in which they happened. */
#define KDL_CLUSTER_EVENT(FIELD)                                                                    \
  FIELD(uint64_t, kind)              /* a kdl_cluster_event_kind */                                 \
  FIELD(uint64_t, core)              /* index within the call */                                    \
  FIELD(uint64_t, number)            /* index of the core's copy or barrier */                      \
  FIELD(uint64_t, bytes)             /* of a copy that begins */                                    \
  FIELD(uint64_t, ns)                /* when it happened, by CLOCK_MONOTONIC of the host; 0 if the cluster has no such clock */

#define KDL_CLUSTER_WORKER(FIELD)                                                                   \
  FIELD(uint64_t, core)              /* index within the call */                                    \
  FIELD(uint64_t, worker)            /* index within the core */                                    \
  FIELD(char*, memory)               /* start of global memory */                                   \
  FIELD(char*, scratchpad)                                                                          \
  FIELD(kdl_cluster_wait*, wait)     /* barrier; returns whether any thread passed nonzero */         \
  FIELD(kdl_cluster_copy*, copy)     /* starts a block copy */                                        \
  FIELD(kdl_cluster_await*, await)   /* waits for block copies from or to these bytes */

#define KDL_CLUSTER_ENTRY(FIELD)                                                                    \
  FIELD(const char*, name)                                                                          \
  FIELD(kdl_cluster_kernel*, kernel)                                                                \
  FIELD(uint64_t, workers)           /* number of workers for each core */                          \
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
  kdl_cluster_none = 0, /* the cluster has not booted */
  kdl_cluster_ready = 1,
  kdl_cluster_no_entry = 2,      /* the image has no entry with the call's name */
  kdl_cluster_no_scratchpad = 3, /* the kernel needs more scratchpad than the cluster has */
  kdl_cluster_no_workers = 4     /* the kernel needs more workers than the cluster has */
};

enum kdl_cluster_fault : uint64_t {
  kdl_cluster_no_fault = 0,
  kdl_cluster_beyond_scratchpad =
      1,                        /* access beyond a scratchpad; fault_address is an offset in it */
  kdl_cluster_beyond_stack = 2, /* access beyond the thread's stack */
  kdl_cluster_no_memory = 3,    /* access to an address without memory */
  kdl_cluster_bad_instruction = 4
};

enum kdl_cluster_event_kind : uint64_t {
  kdl_cluster_core_begins = 1,
  kdl_cluster_core_ends = 2,
  kdl_cluster_copy_begins = 3,
  kdl_cluster_copy_ends = 4,
  kdl_cluster_copy_awaited = 5, /* a thread waits for a copy that has not ended yet */
  kdl_cluster_barrier = 6
};

#define KDL_CLUSTER_FIELD(type, name) type name;
struct kdl_cluster_mailbox {
  uint64_t abi_hash; /* written by the cluster; at this position in all versions */
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

/* Returns the 64-bit FNV-1a hash. It is computed over everything on which both sides must agree. */
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
