// A device that is open: the driver's primary context of it, its memory and streams, and what an operation works with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cuda/cuda_api.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_streams.h"
#include "team/kernel_clock.h"
#include "team/lost_device.h"
#include "team/memory_pool.h"

namespace kdl::runtime {

struct CudaDevice {
  cu::Api api;
  cu::DeviceId id = 0;
  cu::ContextId context = nullptr;
  std::unique_ptr<CudaStreams> streams;
  std::unique_ptr<CudaMemory> memory;
  std::string name;
  std::string arch;  // of the code that it runs, the best first
  std::string level;
  MemoryPool pool;  // of launches
  mutable LostDevice lost;
  KernelClock clock;

  CudaDevice() = default;
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  static CudaDevice& Of(void* device) { return *static_cast<CudaDevice*>(device); }

  // Memory; where there is none left, what launches have given back goes first. The context is the thread's.
  cu::Status Take(std::int64_t bytes, void** taken);
  // 0: the driver knows no such thing.
  int Attribute(int what) const;
  std::int64_t TotalBytes() const;
  // The error of a call that gave `status`; where nothing that follows can succeed, the device is lost.
  Error Failed(std::string_view what, cu::Status status) const;

 private:
  // The context is the thread's. False: nothing was there.
  bool EmptyPool();
};

// What the driver says, too, of all that follows in its context.
bool IsLost(cu::Status status);

// Memory by its address, which is the handle, too.
inline cu::Address AddressOf(const void* memory) { return reinterpret_cast<cu::Address>(memory); }

// What an operation works with: the context, and a stream, which has ended everything when this goes.
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
  // One side, or none, is the host's, of which what is read from it has been taken when this returns.
  cu::Status Copy(const cu::Copy2D& copy) const {
    const bool is_inside = copy.from.kind == cu::kDeviceMemory && copy.to.kind == cu::kDeviceMemory;
    return is_inside ? CopyRectangle(cuda_.api, copy, stream()) : stream_->staging.Copy(copy);
  }
  // All has ended, and what has been read is there.
  cu::Status Wait() const { return stream_->staging.Finish(); }

 private:
  CudaDevice& cuda_;
  const CurrentContext current_;
  std::unique_ptr<CudaStream> stream_;
  cu::Status status_;
};

}  // namespace kdl::runtime
