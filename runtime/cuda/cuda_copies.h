// The device's memory for the runtime: taken, given back, moved.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_memory_ops& CudaMemoryOps();

}  // namespace kdl::runtime
