// OpenCL devices of any vendor. Drivers compile the kernels' text when an image is first used.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& OpenclDeviceOps();

}  // namespace kdl::runtime
