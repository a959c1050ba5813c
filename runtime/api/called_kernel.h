// A kernel that is called with pointers, and the place where it is called.
#pragma once

#include <memory>
#include <vector>

#include "core/pack_ranks.h"
#include "core/registry.h"
#include "kdl/runtime.h"

namespace kdl::runtime {

// A kernel that was looked up for one device.
struct CalledKernel {
  const kdl_function* function;
  Candidate candidate;
  void* module;  // the device's module for the image
  bool has_sizes;
  std::vector<PackRank> ranks;                  // those that the name states
  std::shared_ptr<const CalledKernel> strided;  // the same for tensors with any strides, or null
};

// The device of a call, and how the call gets there.
struct CallPlace {
  Device* device = nullptr;
  kdl_queue* queue = nullptr;
  // The device that owns the caller's memory: `device` itself, or `host`, in which case the data is copied.
  kdl_device* owner = nullptr;
  // Whether the kernel runs on the calling thread, bypassing all queues.
  bool is_direct = false;
};

}  // namespace kdl::runtime
