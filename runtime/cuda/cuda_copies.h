// The runtime's interface to the device's memory: allocation, release and copies.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_memory_ops& CudaMemoryOps();

}  // namespace kdl::runtime
