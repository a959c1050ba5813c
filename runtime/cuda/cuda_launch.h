// Launches of kernels.
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

void LaunchCuda(void* device, const kdl_launch_request* request, kdl_completion done);

}  // namespace kdl::runtime
