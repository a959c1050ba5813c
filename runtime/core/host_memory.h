// Memory of this process for devices that run in it. The application's hooks provide it if they are set,
// otherwise the system does.
#pragma once

#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

class HostMemory {
 public:
  HostMemory() = default;
  // Uses the hooks `allocate` and `release` if they are set.
  explicit HostMemory(const kdl_hooks& hooks) : hooks_(hooks) {}

  // Returns memory with undefined contents, aligned to KDL_SCRATCH_ALIGNMENT. Returns null if there is not
  // enough memory, or if that of the hook is not aligned, which then sets `is_misaligned`. `bytes` may be 0.
  void* Allocate(std::int64_t bytes, bool* is_misaligned = nullptr) const;
  // Frees memory. `bytes` must be the size that was allocated. `memory` may be null.
  void Free(void* memory, std::int64_t bytes) const;

 private:
  kdl_hooks hooks_ = {};
};

// Returns the copy and fill functions for devices whose memory is host memory that the runtime allocates.
// They ignore their `device` argument.
const kdl_memory_ops& HostMemoryOps();

// Allocates memory from the system, aligned to KDL_SCRATCH_ALIGNMENT.
void* AllocateAligned(std::int64_t bytes);
void FreeAligned(void* memory);

}  // namespace kdl::runtime
