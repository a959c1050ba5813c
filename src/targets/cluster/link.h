#pragma once

#include <string>

#include "kdl/cluster_description.hpp"
#include "support/result.h"

namespace kdl::cluster {

/// Compiles kernels to an object file with the machine's own compiler. `text` is LLVM IR or C, depending on
/// the machine's `code`.
Result<std::string> CompileText(const ClusterDescription& machine, const std::string& text);

/// Links the kernels' object file with the boot code, using the machine's own linker, and returns the image.
/// The boot code starts a cluster and handles the host's requests.
Result<std::string> Link(const ClusterDescription& machine, const std::string& object);

}  // namespace kdl::cluster
