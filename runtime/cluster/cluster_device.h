// Cluster machines: embedded many-core devices described by a file (kdl/cluster_description.hpp).
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Returns the functions of `cluster-riscv64`, the machine that is shipped with kernelc.
const kdl_device_ops& OwnClusterDeviceOps();
// Returns the functions of `cluster?description=FILE`, a machine that the file describes.
const kdl_device_ops& ClusterDeviceOps();

}  // namespace kdl::runtime
