#pragma once

#include <vector>

#include "targets/targets.h"

namespace kdl::targets {

/// Processors. The key `isa` chooses a row of isa.def; left out, it is all rows of kernelc's own
/// architecture.
Result<std::vector<Target>> MakeHostTarget(const Spec& spec);

}  // namespace kdl::targets
