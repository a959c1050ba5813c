#pragma once

#include <vector>

#include "support/result.h"
#include "targets/family.h"

namespace kdl::cpu {

/// Processors: this one, the debug device and the interpreter, which both take the host's code or tiles.
extern const targets::Family kFamily;

/// Processors. The key `isa` chooses a row of isa.def; left out, it is all rows of kernelc's own architecture that have an FMA
/// and conversions of f16.
Result<std::vector<targets::Target>> MakeLevels(const targets::Spec& spec);

}  // namespace kdl::cpu
