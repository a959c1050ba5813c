// Streams of a device: an operation has one for itself while it runs, so those that the runtime starts at once run side by side.
#pragma once

#include <mutex>
#include <vector>

#include "cuda/cuda_api.h"

namespace kdl::runtime {

// The device's context is the thread's as long as this lives.
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

class CudaStreams {
 public:
  explicit CudaStreams(const cu::Api& api) : api_(api) {}
  // The context is the thread's, and no operation runs.
  ~CudaStreams() {
    for (cu::StreamId stream : free_) api_.StreamDestroy_v2(stream);
  }
  CudaStreams(const CudaStreams&) = delete;
  CudaStreams& operator=(const CudaStreams&) = delete;

  cu::Status Take(cu::StreamId* stream) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        *stream = free_.back();
        free_.pop_back();
        return cu::kSuccess;
      }
    }
    return api_.StreamCreate(stream, cu::kNonBlocking);
  }
  void Release(cu::StreamId stream) {
    const std::lock_guard lock(mutex_);
    free_.push_back(stream);
  }

 private:
  const cu::Api& api_;
  std::mutex mutex_;  // guards the rest
  std::vector<cu::StreamId> free_;
};

}  // namespace kdl::runtime
