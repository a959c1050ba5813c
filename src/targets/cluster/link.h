#pragma once

#include <string>

#include "kdl/cluster_description.hpp"
#include "support/result.h"

namespace kdl::cluster {

/// The object that the machine's own compiler makes of kernels, which are LLVM's IR or C as its `code` says.
Result<std::string> CompileText(const ClusterDescription& machine, const std::string& text);

/// The image of an object of kernels: linked, by the machine's linker, with what boots a cluster and serves the host.
Result<std::string> Link(const ClusterDescription& machine, const std::string& object);

}  // namespace kdl::cluster
