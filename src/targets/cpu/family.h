#pragma once

#include <vector>

#include "support/result.h"
#include "targets/family.h"

namespace kdl::cpu {

/// Processors: the host, the debug device (which runs the host's code), and the interpreter (which uses the
/// host's tiles).
extern const targets::Family kFamily;

/// Returns a target for each instruction-set level of a processor that the spec selects. The key `isa`
/// selects one row of isa.def. Without this key, all rows are selected that have an FMA and f16 conversions
/// and whose architecture is that of the machine on which kernelc runs.
Result<std::vector<targets::Target>> MakeLevels(const targets::Spec& spec);

}  // namespace kdl::cpu
