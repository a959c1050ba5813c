// OpenCL devices of any vendor. The driver compiles the kernels' source when an image is first used.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& OpenclDeviceOps();

}  // namespace kdl::runtime
