#pragma once

#include <vector>

#include "support/result.h"
#include "targets/family.h"

namespace kdl::cpu {

/// Processors: the host, the debug device (which runs the host's code), and the interpreter (which uses the
/// host's tiles).
extern const targets::Family kFamily;

/// Returns the levels of a processor. The key `isa` selects a row of isa.def. Without the key, all rows of
/// kernelc's own architecture that have an FMA and f16 conversions are returned.
Result<std::vector<targets::Target>> MakeLevels(const targets::Spec& spec);

}  // namespace kdl::cpu
