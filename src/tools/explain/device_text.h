#pragma once

#include <string>
#include <vector>

#include "support/result.h"
#include "targets/registry.h"

namespace kdl::tools {

/// Describes the devices of the specs. For each device, lists the properties that the runtime
/// reports. Then lists, for each target that the device can run, best first, the properties that
/// determine the choice of tiles and code. Fails if a device is not available.
Result<std::string> DescribeDevices(const std::vector<std::string>& specs,
                                    const targets::Registry& families);

}  // namespace kdl::tools
