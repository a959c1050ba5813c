// The events of a cluster as spans of a trace.
#pragma once

#include "cluster/cluster_process.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Reports to the launch's observer, which must exist, when the cluster ran each core of its last call, when it made block
// copies, and when threads waited for one of them. Events of a cluster without a clock are not reported.
void ReportEvents(const ClusterProcess& cluster, const kdl_launch_request& request);

}  // namespace kdl::runtime
