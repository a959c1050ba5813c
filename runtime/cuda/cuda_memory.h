// Memory of a device. It comes from a pool of the driver, ordered by a stream of its own. So no busy stream
// has to wait, whereas `cuMemFree` makes all of them wait. A driver or device without pools uses cuMemAlloc
// and cuMemFree.
#pragma once

#include <cstdint>
#include <mutex>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

// All functions require that the device's context is current.
class CudaMemory {
 public:
  explicit CudaMemory(const cu::Api& api) : api_(api) {}
  // All memory must have been released.
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  cu::Status Open(cu::DeviceId device);
  // When it returns, any stream may use the memory.
  cu::Status Take(std::size_t bytes, cu::Address* address);
  // No stream may be using the memory.
  void Release(cu::Address address);
  // Returns unused memory of the pool to the driver.
  void Trim();

 private:
  const cu::Api& api_;
  std::mutex mutex_;  // guards the stream
  cu::StreamId stream_ = nullptr;
  cu::PoolId pool_ = nullptr;  // null: unsupported
};

}  // namespace kdl::runtime
