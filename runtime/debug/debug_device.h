// The debug device. It runs host code in a way that makes missing transfers, stray writes, missing initial
// values and hidden ordering between cores visible.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& DebugDeviceOps();

}  // namespace kdl::runtime
