// The devices and workspaces of the C++ interface.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kdl/errors.hpp"
#include "kdl/program.hpp"

namespace kdl::inline KDL_VERSIONED {

class Queue;

// A device of a context. It is a plain value, which is valid while the context exists. Two values are equal
// if they denote the same device.
class Device {
 public:
  Device() = default;
  Device(kdl_context* context, kdl_device* device) : context_(context), device_(device) {}

  kdl_device* get() const { return device_; }
  std::string uri() const { return kdl_device_uri(device_); }
  kdl_device_facts facts() const {
    kdl_device_facts facts = {};
    facts.size = sizeof facts;
    Check(kdl_device_get_facts(device_, &facts));
    return facts;
  }
  // Whether memory of `other` can be used on this device without a copy.
  bool SharesMemoryWith(const Device& other) const {
    return kdl_devices_share_memory(device_, other.device_) != 0;
  }
  // Returns the number of cores that the device runs at once.
  std::int64_t cores() const { return facts().cores; }
  // Returns the maximum number of workspace slices that a launch on `core_num` cores uses, that is, the
  // number of its cores that run at once.
  std::int64_t Instances(CoreNum core_num) const {
    const bool is_number = !core_num.is_computed || core_num.number != KDL_CORES_AUTO;
    return is_number ? kdl_device_instances(device_, core_num.number) : 0;
  }
  // Returns the size in bytes of a workspace slice for a kernel. The kernel is named as for a launch.
  std::int64_t Footprint(const char* kernel, const char* place = nullptr) const {
    const kdl_function* function = nullptr;
    Check(kdl_context_find_kernel(context_, kernel, &function), place);
    std::int64_t bytes = 0;
    Check(kdl_function_footprint(function, device_, &bytes), place);
    return bytes;
  }
  kdl_statistics statistics() const {
    kdl_statistics statistics;
    kdl_device_get_statistics(device_, &statistics);
    return statistics;
  }
  std::vector<kdl_count> counts() const {
    std::vector<kdl_count> counts(
        static_cast<std::size_t>(kdl_device_get_counts(device_, nullptr, 0)));
    kdl_device_get_counts(device_, counts.data(), static_cast<std::int64_t>(counts.size()));
    return counts;
  }
  inline Queue queue(std::int32_t index = 0) const;
  // Returns this device with new queue handles, which copies of the result share. A thread that enqueues
  // operations through its own handles is not affected by failures of operations that other threads enqueue:
  // they are not reported to it, and its operations do not fail because of them.
  Device Own() const {
    Device own = *this;
    own.handles_ = std::make_shared<Handles>();
    return own;
  }

  friend bool operator==(const Device& a, const Device& b) { return a.device_ == b.device_; }

 private:
  struct Free {
    void operator()(kdl_queue* queue) const { kdl_queue_free(queue); }
  };
  using Handles = std::map<std::int32_t, std::unique_ptr<kdl_queue, Free>>;

  kdl_context* context_ = nullptr;
  kdl_device* device_ = nullptr;
  // The handles that Own has created, keyed by the index of the queue. Null for a device that uses the shared
  // handles.
  std::shared_ptr<Handles> handles_;
};

// Memory for the pipes of kernels that run one after another. It has one slice for each core that runs
// concurrently.
class Workspace {
 public:
  Workspace() = default;
  // `name` says whose pipes the workspace contains, such as "matmul_residual: q".
  Workspace(const Device& device, std::string name) : device_(device), name_(std::move(name)) {}

  // Reserves `instances` slices of `footprint` bytes each. The workspace never shrinks. Operations that are
  // running keep the memory that they were given.
  void Reserve(std::int64_t instances, std::int64_t footprint, const char* place = nullptr) {
    kdl_buffer* buffer = buffer_.release();
    kdl_error* error =
        kdl_workspace_reserve(device_.get(), instances, footprint, name_.c_str(), &buffer);
    buffer_.reset(buffer);
    Check(error, place);
  }

  kdl_buffer* get() const { return buffer_.get(); }

 private:
  struct Free {
    void operator()(kdl_buffer* buffer) const { kdl_buffer_free(buffer); }
  };

  Device device_;
  std::string name_;
  std::unique_ptr<kdl_buffer, Free> buffer_;
};

}  // namespace kdl::inline KDL_VERSIONED
