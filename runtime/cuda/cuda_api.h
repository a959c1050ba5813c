// The parts of CUDA's driver API that this device uses, under the driver's own names. They are looked up in
// the driver's library when the first device is opened. Programs therefore neither build nor link against
// CUDA, and run on machines without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/error.h"
#include "system/library.h"

namespace kdl::runtime::cu {

struct Context;
struct Stream;
struct Event;
struct Pool;
struct Module;
struct Function;
using DeviceId = int;
using ContextId = Context*;
using StreamId = Stream*;
using EventId = Event*;
using PoolId = Pool*;
using ModuleId = Module*;
using FunctionId = Function*;
using Address = std::uint64_t;  // CUdeviceptr
using Status = int;

inline constexpr Status kSuccess = 0;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNotFound = 500;
// Values of CU_DEVICE_ATTRIBUTE_….
inline constexpr int kBlockThreads = 1;
inline constexpr int kConstantBytes = 9;
inline constexpr int kWarp = 10;
inline constexpr int kBlockRegisters = 12;
inline constexpr int kClock = 13;
inline constexpr int kSecondLevelBytes = 38;
inline constexpr int kMultiprocessorThreads = 39;
inline constexpr int kMultiprocessorWorkgroup = 81;
inline constexpr int kMultiprocessorRegisters = 82;
inline constexpr int kReservedWorkgroup = 111;
inline constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
inline constexpr int kMajor = 75;            // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
inline constexpr int kMinor = 76;
inline constexpr int kHasPools = 115;        // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
inline constexpr int kReleaseThreshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
inline constexpr int kMostWorkgroup = 97;  // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
inline constexpr int kMostThreads = 0;     // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
inline constexpr int kWorkgroupBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr unsigned kMapped = 2;     // CU_MEMHOSTALLOC_DEVICEMAP
inline constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kNoTiming = 2;     // CU_EVENT_DISABLE_TIMING
inline constexpr int kMemoryType = 2;        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
inline constexpr int kOrdinal = 9;           // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
inline constexpr int kErrorLog = 5;          // CU_JIT_ERROR_LOG_BUFFER
inline constexpr int kErrorLogBytes = 6;

// The driver's struct CUmemPoolProps, initialized for device memory.
struct PoolProperties {
  int kind = 1;     // CU_MEM_ALLOCATION_TYPE_PINNED
  int handles = 0;  // not shared with other processes
  int place = 1;    // CU_MEM_LOCATION_TYPE_DEVICE
  int device = 0;
  void* security = nullptr;
  unsigned char reserved[64] = {};
};

// Memory kinds of the driver's struct CUDA_MEMCPY2D. Each side of a copy is host memory or device memory.
inline constexpr int kHostMemory = 1;
inline constexpr int kDeviceMemory = 2;
struct Side {
  std::size_t x = 0;
  std::size_t y = 0;
  int kind = kDeviceMemory;
  void* host = nullptr;
  Address device = 0;
  void* array = nullptr;
  std::size_t pitch = 0;
};
struct Copy2D {
  Side from;
  Side to;
  std::size_t bytes = 0;
  std::size_t rows = 0;
};

// A side of a copy in the driver's struct CUDA_MEMCPY3D_PEER.
struct PeerSide {
  std::size_t x = 0;
  std::size_t y = 0;
  std::size_t z = 0;
  std::size_t level = 0;
  int kind = kDeviceMemory;
  const void* host = nullptr;
  Address device = 0;
  void* array = nullptr;
  ContextId context = nullptr;
  std::size_t pitch = 0;
  std::size_t height = 0;
};
struct CopyPeer {
  PeerSide from;
  PeerSide to;
  std::size_t bytes = 0;
  std::size_t rows = 0;
  std::size_t planes = 0;
};

// The driver's struct CUlaunchConfig.
struct LaunchConfig {
  unsigned blocks[3] = {1, 1, 1};
  unsigned threads[3] = {1, 1, 1};
  unsigned workgroup_bytes = 0;
  StreamId stream = nullptr;
  void* attributes = nullptr;
  unsigned attribute_count = 0;
};

// The name and parameters of each function. The driver's `cuMemAlloc_v2` is Api::MemAlloc_v2. All functions
// return a status.
#define KDL_CU_FUNCTIONS(X)                                                                 \
  X(Init, (unsigned))                                                                       \
  X(DeviceGetCount, (int*))                                                                 \
  X(DeviceGet, (DeviceId*, int))                                                            \
  X(DeviceGetName, (char*, int, DeviceId))                                                  \
  X(DeviceGetAttribute, (int*, int, DeviceId))                                              \
  X(DeviceTotalMem_v2, (std::size_t*, DeviceId))                                            \
  X(DevicePrimaryCtxRetain, (ContextId*, DeviceId))                                         \
  X(DevicePrimaryCtxRelease_v2, (DeviceId))                                                 \
  X(CtxPushCurrent_v2, (ContextId))                                                         \
  X(CtxPopCurrent_v2, (ContextId*))                                                         \
  X(MemAlloc_v2, (Address*, std::size_t))                                                   \
  X(MemFree_v2, (Address))                                                                  \
  X(MemHostAlloc, (void**, std::size_t, unsigned))                                          \
  X(MemFreeHost, (void*))                                                                   \
  X(MemcpyHtoDAsync_v2, (Address, const void*, std::size_t, StreamId))                      \
  X(MemcpyDtoHAsync_v2, (void*, Address, std::size_t, StreamId))                            \
  X(MemcpyDtoDAsync_v2, (Address, Address, std::size_t, StreamId))                          \
  X(Memcpy2DAsync_v2, (const Copy2D*, StreamId))                                            \
  X(MemcpyPeerAsync, (Address, ContextId, Address, ContextId, std::size_t, StreamId))       \
  X(Memcpy3DPeerAsync, (const CopyPeer*, StreamId))                                         \
  X(MemsetD8Async, (Address, unsigned char, std::size_t, StreamId))                         \
  X(MemsetD16Async, (Address, unsigned short, std::size_t, StreamId))                       \
  X(MemsetD32Async, (Address, unsigned, std::size_t, StreamId))                             \
  X(MemsetD2D32Async, (Address, std::size_t, unsigned, std::size_t, std::size_t, StreamId)) \
  X(StreamCreate, (StreamId*, unsigned))                                                    \
  X(StreamDestroy_v2, (StreamId))                                                           \
  X(StreamSynchronize, (StreamId))                                                          \
  X(StreamWaitEvent, (StreamId, EventId, unsigned))                                         \
  X(EventCreate, (EventId*, unsigned))                                                      \
  X(EventDestroy_v2, (EventId))                                                             \
  X(EventRecord, (EventId, StreamId))                                                       \
  X(EventSynchronize, (EventId))                                                            \
  X(ModuleLoadDataEx, (ModuleId*, const void*, unsigned, int*, void**))                     \
  X(ModuleUnload, (ModuleId))                                                               \
  X(ModuleGetFunction, (FunctionId*, ModuleId, const char*))                                \
  X(ModuleGetGlobal_v2, (Address*, std::size_t*, ModuleId, const char*))                    \
  X(FuncGetAttribute, (int*, int, FunctionId))                                              \
  X(FuncSetAttribute, (FunctionId, int, int))                                               \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, (int*, FunctionId, int, std::size_t))        \
  X(LaunchKernelEx, (const LaunchConfig*, FunctionId, void**, void**))                      \
  X(GetErrorName, (Status, const char**))                                                   \
  X(GetErrorString, (Status, const char**))

// Functions that only some drivers have. In Api, a function that the driver lacks is null.
#define KDL_CU_LATE_FUNCTIONS(X)                                                   \
  X(EventElapsedTime, (float*, EventId, EventId))                                  \
  X(StreamQuery, (StreamId))                                                       \
  X(PointerGetAttribute, (void*, int, Address))                                    \
  X(MemPoolCreate, (PoolId*, const PoolProperties*))                               \
  X(MemPoolDestroy, (PoolId))                                                      \
  X(MemPoolSetAttribute, (PoolId, int, void*))                                     \
  X(MemPoolTrimTo, (PoolId, std::size_t))                                          \
  X(MemAllocFromPoolAsync, (Address*, std::size_t, PoolId, StreamId))              \
  X(MemFreeAsync, (Address, StreamId))                                             \
  X(TensorMapEncodeTiled,                                                          \
    (void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*, \
     const std::uint32_t*, const std::uint32_t*, int, int, int, int))

struct Api {
#define KDL_CU_MEMBER(name, params) Status(*name) params = nullptr;
  KDL_CU_FUNCTIONS(KDL_CU_MEMBER)
  KDL_CU_LATE_FUNCTIONS(KDL_CU_MEMBER)
#undef KDL_CU_MEMBER
  Library library;

  // Loads the driver's functions. Fails if this machine has no driver, or if the driver finds no device.
  static Error Load(Api* api);
  // Returns the name and description of a status, such as "CUDA_ERROR_OUT_OF_MEMORY (2), out of memory".
  std::string StatusName(Status status) const;
};

}  // namespace kdl::runtime::cu
