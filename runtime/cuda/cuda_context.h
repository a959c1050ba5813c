// An open device (its primary context, its memory and its streams), and the environment in which one
// operation runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cuda/cuda_api.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_streams.h"
#include "workgroup/kernel_clock.h"
#include "workgroup/lost_device.h"
#include "workgroup/memory_pool.h"

namespace kdl::runtime {

// What a queue of the runtime keeps on the device (see cuda_queue.h).
class CudaQueueState {
 public:
  virtual ~CudaQueueState() = default;
};

struct CudaDevice {
  cu::Api api;
  cu::DeviceId id = 0;
  cu::ContextId context = nullptr;
  std::unique_ptr<CudaStreams> streams;
  std::unique_ptr<CudaMemory> memory;
  std::string name;
  std::string arch;  // the architecture levels that the device can run, best first
  std::string level;
  int compute_level = 0;  // 10 * major + minor
  int multiprocessors = 1;
  std::int64_t most_scratch =
      0;            // the maximum number of bytes of scratch that a launch should have
  MemoryPool pool;  // memory for launches
  mutable LostDevice lost;
  KernelClock clock;
  std::mutex queues_mutex;  // guards `queues`
  std::map<std::int32_t, std::unique_ptr<CudaQueueState>> queues;

  CudaDevice() = default;
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  static CudaDevice& FromHandle(void* device) { return *static_cast<CudaDevice*>(device); }

  // Allocates memory. If memory runs out, frees memory that launches have released, and tries again. The
  // context must be current.
  cu::Status Take(std::int64_t bytes, void** taken);
  // Returns the value of a device attribute, or 0 if the driver does not know the attribute.
  int Attribute(int what) const;
  std::int64_t TotalBytes() const;
  // Returns the error for a driver call that returned `status`. If no later call can succeed, marks the
  // device as lost.
  Error Failed(std::string_view what, cu::Status status) const;

 private:
  // Frees the pool's memory. The context must be current. Returns false if the pool was empty.
  bool EmptyPool();
};

// Whether the driver will return this status for all later calls in the same context.
bool IsLost(cu::Status status);

// Returns the address of memory. The address is also the memory's handle.
inline cu::Address AddressOf(const void* memory) { return reinterpret_cast<cu::Address>(memory); }

// The environment of one operation: it makes the context current and provides a stream. The destructor waits
// for the stream.
class CudaWork {
 public:
  explicit CudaWork(CudaDevice& cuda) : cuda_(cuda), current_(cuda.api, cuda.context) {
    status_ = current_.status();
    if (status_ == cu::kSuccess) status_ = cuda.streams->Take(&stream_);
  }
  ~CudaWork() {
    if (stream_ == nullptr) return;
    cuda_.api.StreamSynchronize(stream_->id);
    stream_->staging.Forget();
    cuda_.streams->Release(std::move(stream_));
  }
  CudaWork(const CudaWork&) = delete;
  CudaWork& operator=(const CudaWork&) = delete;

  cu::Status status() const { return status_; }
  cu::StreamId stream() const { return stream_->id; }
  // Starts a copy to, from or within the device's memory. At most one side may be host memory. If the copy
  // reads host memory, the caller may reuse that memory as soon as this returns.
  cu::Status Copy(const cu::Copy2D& copy) const {
    const bool is_inside = copy.from.kind == cu::kDeviceMemory && copy.to.kind == cu::kDeviceMemory;
    return is_inside ? CopyRectangle(cuda_.api, copy, stream()) : stream_->staging.Copy(copy);
  }
  // Waits until all copies have ended and all data has arrived in host memory.
  cu::Status Wait() const { return stream_->staging.Finish(); }

 private:
  CudaDevice& cuda_;
  const CurrentContext current_;
  std::unique_ptr<CudaStream> stream_;
  cu::Status status_;
};

}  // namespace kdl::runtime
