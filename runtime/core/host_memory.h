// Memory of this process for devices that work in it: from the application's hooks if it provides them, else
// from the system.
#pragma once

#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

class HostMemory {
 public:
  HostMemory() = default;
  // Uses the `allocate` and `release` hooks if there are any.
  explicit HostMemory(const kdl_hooks& hooks) : hooks_(hooks) {}

  // Returns memory aligned to KDL_SCRATCH_ALIGNMENT with undefined contents, or null if memory is short.
  // `bytes` may be 0.
  void* Allocate(std::int64_t bytes) const;
  // `bytes` must be the allocated size. Null is allowed.
  void Free(void* memory, std::int64_t bytes) const;

 private:
  kdl_hooks hooks_ = {};
};

// Copies and fills for devices without memory of their own, whose memory the runtime allocates itself. Their
// `device` argument is not used.
const kdl_memory_ops& HostMemoryOps();

// Allocates memory from the system, with the same alignment.
void* AllocateAligned(std::int64_t bytes);
void FreeAligned(void* memory);

}  // namespace kdl::runtime
