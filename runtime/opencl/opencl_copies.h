// The device's memory as the runtime uses it: allocation, release and copies.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_memory_ops& OpenclMemoryOps();

}  // namespace kdl::runtime
