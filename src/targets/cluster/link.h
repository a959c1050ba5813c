#pragma once

#include <string>

#include "kdl/cluster_description.hpp"
#include "support/result.h"

namespace kdl::cluster {

/// The image of an object of kernels: linked, by the machine's linker, with what boots a cluster and serves the host.
Result<std::string> Link(const ClusterDescription& machine, const std::string& object);

}  // namespace kdl::cluster
