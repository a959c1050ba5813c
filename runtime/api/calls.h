// Kernels on one device that are called with pointers to the caller's memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/binding.h"
#include "core/scratch_pool.h"

namespace kdl::runtime {

class Context;

class Calls : public Handle {
 public:
  // Finds the kernels. If `context` is null, creates a context for them.
  static Error Open(kdl_context* context, const kdl_image* const* images, const char* device,
                    std::span<const char* const> names, std::unique_ptr<Calls>* calls);

  // Returns an error if there is no kernel with this number, or if a required list is null.
  Error Check(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values) const;
  Error Call(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values) const;
  Error CallAsync(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values,
                  kdl_event* const* after, std::int32_t after_count, kdl_event** done) const;

  Scheduler& scheduler() const { return *scheduler_; }

 private:
  struct Entry {
    const kdl_function* function;
    Candidate candidate;
    void* module;  // the device's module for the image
    bool has_sizes;
  };
  struct Destroy {
    void operator()(kdl_context* context) const { kdl_context_destroy(context); }
  };

  Calls(std::shared_ptr<Scheduler> scheduler, Device& device)
      : scheduler_(std::move(scheduler)), device_(&device), workspaces_(device.host_memory()) {}
  Error Find(kdl_context* context, const char* name);
  // Runs the kernel on this thread, bypassing all queues.
  Error CallHere(const Entry& entry, const std::int64_t* sizes, const kdl_value* values) const;

  std::unique_ptr<kdl_context, Destroy> own_context_;
  // Shared, because kernels may be closed after their context is destroyed.
  std::shared_ptr<Scheduler> scheduler_;
  Device* device_;
  kdl_queue* queue_ = nullptr;
  // The device that owns the caller's memory: `device_` itself, or `host`, in which case the data is copied.
  kdl_device* owner_ = nullptr;
  bool calls_here_ = false;
  std::vector<Entry> entries_;
  mutable ScratchPool workspaces_;
};

}  // namespace kdl::runtime
