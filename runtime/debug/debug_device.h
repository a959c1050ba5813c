// The debug device, which runs host code so that missing transfers, stray writes, forgotten initial values
// and hidden orders between cores become visible.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& DebugDeviceOps();

}  // namespace kdl::runtime
