#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/run/host_tensor.h"
#include "interp/contract.h"
#include "ir/module.h"
#include "support/names.h"
#include "support/source.h"

namespace kdl::driver {

/// Determines the sizes of a launch from the shapes of the arguments, from `where` equations, and
/// from constants such as "BM=64, BN=32". Returns nothing if these do not determine all sizes.
std::optional<std::map<Name, int64_t>> SizesAtLaunch(const ir::Function& kernel,
                                                     const std::vector<HostTensor>& arguments,
                                                     std::string_view constants);

/// Returns `FILE:12:9: error: the inputs violate 'x[i] > 0.0' at i = 3: x[3] is -1`.
std::string DescribeRequired(const interp::ContractFailure& broken, const SourceManager& sources);
/// Returns `FILE:13:9: error: the launch violates 'y[i] ~ 2 * x[i]' at i = 3: …`.
std::string DescribeEnsured(const interp::ContractFailure& broken, const SourceManager& sources);

}  // namespace kdl::driver
