// Machines of clusters: embedded many-core devices, which a file describes (kdl/cluster_description.hpp).
#pragma once

#include "kdl/device_plugin.h"

namespace kdl::runtime {

// `cluster-riscv64`, the machine that is shipped.
const kdl_device_ops& OwnClusterDeviceOps();
// `cluster?description=FILE`.
const kdl_device_ops& ClusterDeviceOps();

}  // namespace kdl::runtime
