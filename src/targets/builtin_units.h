#pragma once

#include <span>

#include "targets/cpu/units.h"

namespace kdl::targets {

/// The units of kernelc's own families, for what reads KIR without a compiler. Header only: programs link no family.
inline std::span<const ir::Unit* const> BuiltinUnits() { return cpu::kUnits; }

}  // namespace kdl::targets
