// Memory of a device. A pool of the driver's gives it and takes it back in the order of a stream of its own, so that no stream that
// has work waits, as all do where `cuMemFree` is called; a driver or device without pools does it its old way.
#pragma once

#include <cstdint>
#include <mutex>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

// In all functions the device's context is the thread's.
class CudaMemory {
 public:
  explicit CudaMemory(const cu::Api& api) : api_(api) {}
  // All memory has been released.
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  cu::Status Open(cu::DeviceId device);
  // Streams may use it from now on.
  cu::Status Take(std::size_t bytes, cu::Address* address);
  // No stream uses it any more.
  void Release(cu::Address address);
  // What nobody has is the driver's again.
  void Trim();

 private:
  const cu::Api& api_;
  std::mutex mutex_;  // guards the stream
  cu::StreamId stream_ = nullptr;
  cu::PoolId pool_ = nullptr;  // null: there is none
};

}  // namespace kdl::runtime
