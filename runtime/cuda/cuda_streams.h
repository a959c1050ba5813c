// Streams of a device. Each operation has its own stream while it runs, so operations that the runtime starts
// at the same time run concurrently.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/cuda_api.h"
#include "cuda/cuda_staging.h"

namespace kdl::runtime {

// Makes the device's context current on this thread during its lifetime.
class CurrentContext {
 public:
  CurrentContext(const cu::Api& api, cu::ContextId context) : api_(api) {
    status_ = api.CtxPushCurrent_v2(context);
  }
  ~CurrentContext() {
    cu::ContextId popped = nullptr;
    if (status_ == cu::kSuccess) api_.CtxPopCurrent_v2(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  cu::Status status() const { return status_; }

 private:
  const cu::Api& api_;
  cu::Status status_;
};

struct CudaStream {
  CudaStream(const cu::Api& api, cu::StreamId stream) : id(stream), staging(api, stream) {}
  cu::StreamId id;
  CudaStaging staging;
};

class CudaStreams {
 public:
  explicit CudaStreams(const cu::Api& api) : api_(api) {}
  // The context must be current, and no operation may be running.
  ~CudaStreams() {
    for (std::unique_ptr<CudaStream>& stream : free_) {
      const cu::StreamId id = stream->id;
      stream.reset();
      api_.StreamDestroy_v2(id);
    }
  }
  CudaStreams(const CudaStreams&) = delete;
  CudaStreams& operator=(const CudaStreams&) = delete;

  cu::Status Take(std::unique_ptr<CudaStream>* stream) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        *stream = std::move(free_.back());
        free_.pop_back();
        return cu::kSuccess;
      }
    }
    cu::StreamId id = nullptr;
    const cu::Status status = api_.StreamCreate(&id, cu::kNonBlocking);
    if (status == cu::kSuccess) *stream = std::make_unique<CudaStream>(api_, id);
    return status;
  }
  void Release(std::unique_ptr<CudaStream> stream) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(stream));
  }

 private:
  const cu::Api& api_;
  std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<CudaStream>> free_;
};

}  // namespace kdl::runtime
