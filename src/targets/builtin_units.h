#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "targets/cpu/units.h"
#include "targets/simt/units.h"

namespace kdl::targets {

/// The units of kernelc's own families, for what reads KIR without a compiler. Header only: programs link no family.
inline std::span<const ir::Unit* const> BuiltinUnits() {
  static constexpr auto kAll = [] {
    std::array<const ir::Unit*, std::size(cpu::kUnits) + std::size(simt::kUnits)> all{};
    std::ranges::copy(simt::kUnits, std::ranges::copy(cpu::kUnits, all.begin()).out);
    return all;
  }();
  return kAll;
}

}  // namespace kdl::targets
