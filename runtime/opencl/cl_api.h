// The parts of OpenCL 1.2 that this device uses, under the standard's own names. They are looked up in the
// ICD loader when the first device is opened. Programs therefore neither build nor link against OpenCL, and
// run on machines without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/error.h"
#include "system/library.h"

namespace kdl::runtime::cl {

struct Platform;
struct Device;
struct Context;
struct Queue;
struct Memory;
struct Program;
struct Kernel;
struct Event;
using PlatformId = Platform*;
using DeviceId = Device*;
using ContextId = Context*;
using QueueId = Queue*;
using MemoryId = Memory*;
using ProgramId = Program*;
using KernelId = Kernel*;
using EventId = Event*;

inline constexpr std::int32_t kSuccess = 0;
inline constexpr std::int32_t kOutOfDeviceMemory = -4;  // CL_MEM_OBJECT_ALLOCATION_FAILURE
inline constexpr std::int32_t kOutOfHostMemory = -6;
inline constexpr std::int32_t kNotAvailable = -2;  // CL_DEVICE_NOT_AVAILABLE
inline constexpr std::int32_t kOutOfResources = -5;
inline constexpr std::int32_t kInvalidContext = -34;
inline constexpr std::int32_t kInvalidQueue = -36;
inline constexpr std::int32_t kInvalidBufferSize = -61;
inline constexpr std::uint32_t kTrue = 1;
inline constexpr std::uint64_t kAllDevices = 0xFFFFFFFF;
inline constexpr std::uint64_t kReadWrite = 1;     // CL_MEM_READ_WRITE
inline constexpr std::uint64_t kHostMemory = 16;   // CL_MEM_ALLOC_HOST_PTR
inline constexpr std::uint64_t kMapBoth = 3;       // CL_MAP_READ, CL_MAP_WRITE
inline constexpr std::uint64_t kProfiling = 2;     // CL_QUEUE_PROFILING_ENABLE
inline constexpr std::uint32_t kStarted = 0x1282;  // CL_PROFILING_COMMAND_START
inline constexpr std::uint32_t kEnded = 0x1283;
inline constexpr std::uint32_t kComputeUnits = 0x1002;
inline constexpr std::uint32_t kSingleConfig = 0x101B;
inline constexpr std::uint32_t kGlobalBytes = 0x101F;
inline constexpr std::uint32_t kMaxAllocation = 0x1010;
inline constexpr std::uint32_t kDeviceName = 0x102B;
inline constexpr std::uint32_t kDeviceVendor = 0x102C;
inline constexpr std::uint32_t kDriverVersion = 0x102D;
inline constexpr std::uint32_t kDeviceVersion = 0x102F;
inline constexpr std::uint32_t kDevicePlatform = 0x1031;
inline constexpr std::uint32_t kDeviceExtensions = 0x1030;
inline constexpr std::int32_t kInvalidKernelName = -46;
inline constexpr std::uint32_t kPlatformVersion = 0x0901;
inline constexpr std::uint32_t kPlatformName = 0x0902;
inline constexpr std::uint64_t kDenormals = 1;
inline constexpr std::uint64_t kRoundedDivision = 1 << 7;
inline constexpr std::uint32_t kBinarySizes = 0x1165;
inline constexpr std::uint32_t kBinaries = 0x1166;
inline constexpr std::uint32_t kBuildLog = 0x1183;
inline constexpr std::uint32_t kCompiledWorkGroup = 0x11B1;
inline constexpr std::uint32_t kMostThreads = 0x11B0;      // CL_KERNEL_WORK_GROUP_SIZE
inline constexpr std::uint32_t kKernelWorkgroup = 0x11B2;  // CL_KERNEL_LOCAL_MEM_SIZE
inline constexpr std::uint32_t kDeviceThreads = 0x1004;
inline constexpr std::uint32_t kClock = 0x100C;
inline constexpr std::uint32_t kCacheBytes = 0x101E;
inline constexpr std::uint32_t kConstantBytes = 0x1020;
inline constexpr std::uint32_t kHostUnified = 0x1035;
inline constexpr std::uint32_t kDeviceWorkgroup = 0x1023;  // CL_DEVICE_LOCAL_MEM_SIZE

// The name, result type and parameters of each function. The standard's `clGetPlatformIDs` is
// Api::GetPlatformIDs.
#define KDL_CL_FUNCTIONS(X)                                                                        \
  X(GetPlatformIDs, std::int32_t, (std::uint32_t, PlatformId*, std::uint32_t*))                    \
  X(GetPlatformInfo, std::int32_t, (PlatformId, std::uint32_t, std::size_t, void*, std::size_t*))  \
  X(GetDeviceIDs, std::int32_t,                                                                    \
    (PlatformId, std::uint64_t, std::uint32_t, DeviceId*, std::uint32_t*))                         \
  X(GetDeviceInfo, std::int32_t, (DeviceId, std::uint32_t, std::size_t, void*, std::size_t*))      \
  X(CreateContext, ContextId,                                                                      \
    (const void*, std::uint32_t, const DeviceId*, void*, void*, std::int32_t*))                    \
  X(ReleaseContext, std::int32_t, (ContextId))                                                     \
  X(CreateCommandQueue, QueueId, (ContextId, DeviceId, std::uint64_t, std::int32_t*))              \
  X(ReleaseCommandQueue, std::int32_t, (QueueId))                                                  \
  X(CreateBuffer, MemoryId, (ContextId, std::uint64_t, std::size_t, void*, std::int32_t*))         \
  X(ReleaseMemObject, std::int32_t, (MemoryId))                                                    \
  X(CreateProgramWithSource, ProgramId,                                                            \
    (ContextId, std::uint32_t, const char**, const std::size_t*, std::int32_t*))                   \
  X(CreateProgramWithBinary, ProgramId,                                                            \
    (ContextId, std::uint32_t, const DeviceId*, const std::size_t*, const char**, std::int32_t*,   \
     std::int32_t*))                                                                               \
  X(GetProgramInfo, std::int32_t, (ProgramId, std::uint32_t, std::size_t, void*, std::size_t*))    \
  X(BuildProgram, std::int32_t,                                                                    \
    (ProgramId, std::uint32_t, const DeviceId*, const char*, void*, void*))                        \
  X(GetProgramBuildInfo, std::int32_t,                                                             \
    (ProgramId, DeviceId, std::uint32_t, std::size_t, void*, std::size_t*))                        \
  X(ReleaseProgram, std::int32_t, (ProgramId))                                                     \
  X(CreateKernel, KernelId, (ProgramId, const char*, std::int32_t*))                               \
  X(ReleaseKernel, std::int32_t, (KernelId))                                                       \
  X(SetKernelArg, std::int32_t, (KernelId, std::uint32_t, std::size_t, const void*))               \
  X(GetKernelWorkGroupInfo, std::int32_t,                                                          \
    (KernelId, DeviceId, std::uint32_t, std::size_t, void*, std::size_t*))                         \
  X(EnqueueNDRangeKernel, std::int32_t,                                                            \
    (QueueId, KernelId, std::uint32_t, const std::size_t*, const std::size_t*, const std::size_t*, \
     std::uint32_t, const void*, EventId*))                                                        \
  X(GetEventProfilingInfo, std::int32_t,                                                           \
    (EventId, std::uint32_t, std::size_t, void*, std::size_t*))                                    \
  X(ReleaseEvent, std::int32_t, (EventId))                                                         \
  X(EnqueueWriteBuffer, std::int32_t,                                                              \
    (QueueId, MemoryId, std::uint32_t, std::size_t, std::size_t, const void*, std::uint32_t,       \
     const void*, void*))                                                                          \
  X(EnqueueReadBuffer, std::int32_t,                                                               \
    (QueueId, MemoryId, std::uint32_t, std::size_t, std::size_t, void*, std::uint32_t,             \
     const void*, void*))                                                                          \
  X(EnqueueCopyBuffer, std::int32_t,                                                               \
    (QueueId, MemoryId, MemoryId, std::size_t, std::size_t, std::size_t, std::uint32_t,            \
     const void*, void*))                                                                          \
  X(EnqueueWriteBufferRect, std::int32_t,                                                          \
    (QueueId, MemoryId, std::uint32_t, const std::size_t*, const std::size_t*, const std::size_t*, \
     std::size_t, std::size_t, std::size_t, std::size_t, const void*, std::uint32_t, const void*,  \
     void*))                                                                                       \
  X(EnqueueReadBufferRect, std::int32_t,                                                           \
    (QueueId, MemoryId, std::uint32_t, const std::size_t*, const std::size_t*, const std::size_t*, \
     std::size_t, std::size_t, std::size_t, std::size_t, void*, std::uint32_t, const void*,        \
     void*))                                                                                       \
  X(EnqueueCopyBufferRect, std::int32_t,                                                           \
    (QueueId, MemoryId, MemoryId, const std::size_t*, const std::size_t*, const std::size_t*,      \
     std::size_t, std::size_t, std::size_t, std::size_t, std::uint32_t, const void*, void*))       \
  X(EnqueueFillBuffer, std::int32_t,                                                               \
    (QueueId, MemoryId, const void*, std::size_t, std::size_t, std::size_t, std::uint32_t,         \
     const void*, void*))                                                                          \
  X(EnqueueMapBuffer, void*,                                                                       \
    (QueueId, MemoryId, std::uint32_t, std::uint64_t, std::size_t, std::size_t, std::uint32_t,     \
     const void*, void*, std::int32_t*))                                                           \
  X(EnqueueUnmapMemObject, std::int32_t,                                                           \
    (QueueId, MemoryId, void*, std::uint32_t, const void*, void*))                                 \
  X(WaitForEvents, std::int32_t, (std::uint32_t, const EventId*))                                  \
  X(Finish, std::int32_t, (QueueId))

struct Api {
#define KDL_CL_MEMBER(name, result, params) result(*name) params = nullptr;
  KDL_CL_FUNCTIONS(KDL_CL_MEMBER)
#undef KDL_CL_MEMBER
  Library library;

  // Loads the functions. Fails if this machine has no ICD loader, or if the loader lacks one of the
  // functions.
  static Error Load(Api* api);
};

// Returns the standard's name for an error, such as "CL_OUT_OF_RESOURCES (-5)".
std::string ErrorName(std::int32_t status);

}  // namespace kdl::runtime::cl
