// Memory of devices that work in the host's: what the runtime does where a device has no memory of
// its own.
#pragma once

#include <cstdint>

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// `device` is unused in all of them.
const kdl_memory_ops& HostMemoryOps();

// Aligned to KDL_SCRATCH_ALIGNMENT, contents undefined; null where there is not enough. `bytes` may
// be 0.
void* AllocateAligned(std::int64_t bytes);
void FreeAligned(void* memory);

}  // namespace kdl::runtime
