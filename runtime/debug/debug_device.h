// The debug device: host code where every missing transfer, stray write, forgotten initial value or
// hidden order between cores shows.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& DebugDeviceOps();

}  // namespace kdl::runtime
