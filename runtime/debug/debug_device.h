// The debug device. It runs host code in a way that exposes missing transfers, stray writes, missing initial
// values, and results that depend on the order of cores.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& DebugDeviceOps();

}  // namespace kdl::runtime
