// A device that is open: a context and a queue, on which an operation runs when the runtime says that it may, and is waited for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "opencl/cl_api.h"
#include "opencl/opencl_memory.h"
#include "opencl/opencl_programs.h"
#include "opencl/opencl_staging.h"
#include "team/kernel_clock.h"
#include "team/lost_device.h"
#include "team/memory_pool.h"

namespace kdl::runtime {

struct OpenclDevice {
  cl::Api api;
  cl::DeviceId id = nullptr;
  cl::ContextId context = nullptr;
  cl::QueueId queue = nullptr;
  bool measures = false;  // the queue notes when its kernels begin and end
  std::unique_ptr<OpenclMemory> memory;
  std::unique_ptr<OpenclStaging> staging;  // null: the device works in the host's memory
  std::unique_ptr<OpenclPrograms> programs;
  MemoryPool pool;  // of launches
  KernelClock clock;
  std::mutex mutex;  // one operation at a time
  LostDevice lost;

  OpenclDevice() = default;
  ~OpenclDevice();
  OpenclDevice(const OpenclDevice&) = delete;
  OpenclDevice& operator=(const OpenclDevice&) = delete;

  static OpenclDevice& Of(void* device) { return *static_cast<OpenclDevice*>(device); }

  // False: nothing was there.
  bool EmptyPool();
  // In the place of the one that was there, which has nothing to do.
  std::int32_t MakeQueue(std::uint64_t properties);
  // The error of a call that gave `status`; of one that has waited, what ran before may be at fault.
  Error Failed(std::string_view what, std::int32_t status, bool has_waited = false);

  // What the driver does not know is 0.
  template <class T>
  T Info(std::uint32_t what) const {
    T value{};
    api.GetDeviceInfo(id, what, sizeof value, &value, nullptr);
    return value;
  }

 private:
  // Drivers whose context has ended say so of all that follows: where a kernel ran out of its memory, out of resources.
  bool IsLost(std::int32_t status, bool has_waited) const;
};

}  // namespace kdl::runtime
