// NVIDIA GPUs. The driver compiles the kernels' PTX when an image is first used.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& CudaDeviceOps();

}  // namespace kdl::runtime
