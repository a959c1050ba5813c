// Cluster machines: embedded many-core devices described by a file (kdl/cluster_description.hpp).
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// `cluster-riscv64`, the machine that comes with kernelc.
const kdl_device_ops& OwnClusterDeviceOps();
// `cluster?description=FILE`.
const kdl_device_ops& ClusterDeviceOps();

}  // namespace kdl::runtime
