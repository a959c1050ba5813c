// Memory of this process, for devices that work in it: the application's where it lends some, else the system's.
#pragma once

#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

class HostMemory {
 public:
  HostMemory() = default;
  // With the allocate and release of the hooks, where they have them.
  explicit HostMemory(const kdl_hooks& hooks) : hooks_(hooks) {}

  // Aligned to KDL_SCRATCH_ALIGNMENT, contents undefined; null where there is not enough. `bytes` may be 0.
  void* Allocate(std::int64_t bytes) const;
  // `bytes` as it was allocated; null is allowed.
  void Free(void* memory, std::int64_t bytes) const;

 private:
  kdl_hooks hooks_ = {};
};

// Copies and fills where a device has no memory of its own, which the runtime then allocates itself; `device` is unused
// in all of them.
const kdl_memory_ops& HostMemoryOps();

// The system's memory, as HostMemory gives it.
void* AllocateAligned(std::int64_t bytes);
void FreeAligned(void* memory);

}  // namespace kdl::runtime
