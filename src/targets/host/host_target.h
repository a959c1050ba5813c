#pragma once

#include "targets/targets.h"

namespace kdl::targets {

/// Processors. The key `isa` chooses a row of isa.def; left out, it is the lowest level of
/// kernelc's own processor.
Result<Target> MakeHostTarget(const Spec& spec);

}  // namespace kdl::targets
