#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "targets/cpu/instructions.h"
#include "targets/simt/instructions.h"

namespace kdl::targets {

/// Returns the matrix instructions of all built-in families of targets. Programs that read KIR but do not
/// compile it use this function. It is defined in the header, so that these programs need not link the
/// families.
inline std::span<const ir::MatrixInstruction* const> BuiltinInstructions() {
  static constexpr auto kAll = [] {
    std::array<const ir::MatrixInstruction*,
               std::size(cpu::kMatrixInstructions) + std::size(simt::kMatrixInstructions)>
        all{};
    std::ranges::copy(simt::kMatrixInstructions,
                      std::ranges::copy(cpu::kMatrixInstructions, all.begin()).out);
    return all;
  }();
  return kAll;
}

}  // namespace kdl::targets
