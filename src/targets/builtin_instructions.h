#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "targets/cpu/instructions.h"
#include "targets/simt/instructions.h"

namespace kdl::targets {

/// The matrix instructions of kernelc's own families, for code that reads KIR without a compiler. Defined
/// only in this header, so that programs need not link any family.
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
