// An open device: a context and a queue. The runtime starts an operation only after everything that it
// depends on has ended, and then waits until the operation has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "opencl/cl_api.h"
#include "opencl/opencl_memory.h"
#include "opencl/opencl_programs.h"
#include "opencl/opencl_staging.h"
#include "workgroup/kernel_clock.h"
#include "workgroup/lost_device.h"
#include "workgroup/memory_pool.h"

namespace kdl::runtime {

struct OpenclDevice {
  cl::Api api;
  cl::DeviceId id = nullptr;
  cl::ContextId context = nullptr;
  cl::QueueId queue = nullptr;
  bool measures = false;  // whether the queue records when its kernels start and end
  std::unique_ptr<OpenclMemory> memory;
  std::unique_ptr<OpenclStaging> staging;  // null if the device works in host memory
  std::unique_ptr<OpenclPrograms> programs;
  MemoryPool pool;  // memory for launches
  KernelClock clock;
  std::mutex mutex;  // held during each operation
  LostDevice lost;

  OpenclDevice() = default;
  ~OpenclDevice();
  OpenclDevice(const OpenclDevice&) = delete;
  OpenclDevice& operator=(const OpenclDevice&) = delete;

  static OpenclDevice& FromHandle(void* device) { return *static_cast<OpenclDevice*>(device); }

  // Frees the pool's memory. Returns false if the pool was empty.
  bool EmptyPool();
  // Creates the queue. Replaces an existing queue, which must be idle.
  std::int32_t MakeQueue(std::uint64_t properties);
  // Returns the error for a call that returned `status`. If the call waited, an earlier operation may be the
  // cause of the error.
  Error Failed(std::string_view what, std::int32_t status, bool has_waited = false);

  // Returns a property of the device, or 0 if the driver does not know it.
  template <class T>
  T Info(std::uint32_t what) const {
    T value{};
    api.GetDeviceInfo(id, what, sizeof value, &value, nullptr);
    return value;
  }

 private:
  // Whether the context is lost, so that the driver returns errors for all later calls. If a kernel accessed
  // memory out of bounds, the status is "out of resources".
  bool IsLost(std::int32_t status, bool has_waited) const;
};

}  // namespace kdl::runtime
