#pragma once

#include <string>
#include <vector>

#include "support/result.h"
#include "targets/registry.h"

namespace kdl::tools {

/// What the devices of specs are: first what the runtime reads of each, then, for each target whose code it runs, the best one
/// first, what tiles and code are chosen by. The failure says why one is not there.
Result<std::string> DescribeDevices(const std::vector<std::string>& specs,
                                    const targets::Registry& families);

}  // namespace kdl::tools
