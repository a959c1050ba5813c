// Memory of a device. It comes from a memory pool of the driver and is allocated and freed in the order of a
// separate stream. Busy streams therefore need not wait, whereas `cuMemFree` makes all of them wait. If the
// driver or the device does not support pools, cuMemAlloc and cuMemFree are used.
#pragma once

#include <cstdint>
#include <mutex>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

// Allocates and frees memory. All functions require that the device's context is current.
class CudaMemory {
 public:
  explicit CudaMemory(const cu::Api& api) : api_(api) {}
  // All memory must already have been released.
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  cu::Status Open(cu::DeviceId device);
  // Allocates memory. When this returns, any stream may use the memory.
  cu::Status Take(std::size_t bytes, cu::Address* address);
  // Frees memory. No stream may be using it.
  void Release(cu::Address address);
  // Returns unused memory of the pool to the driver.
  void Trim();

 private:
  const cu::Api& api_;
  std::mutex mutex_;  // guards the stream
  cu::StreamId stream_ = nullptr;
  cu::PoolId pool_ = nullptr;  // null if pools are not supported
};

}  // namespace kdl::runtime
