#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// Whether loop-invariant code is hoisted.
enum class Invariants : uint8_t { Hoist, Leave };
/// Whether LLVM vectorizes code in which KIR has no vectors. The order of float operations does not change.
enum class Vectors : uint8_t { AsWritten, Found };

/// Splits coroutines, whose frames add to the kernels' scratch, and runs LLVM's passes for an optimization
/// level: none at 0, otherwise a few that clean up. No pass may turn a loop into a call of a C function.
/// `machine` is null if another version of LLVM continues the compilation.
void Optimize(const Machine* machine, int opt_level, llvm::Module& module,
              std::span<KernelCode> kernels, Invariants invariants = Invariants::Hoist,
              Vectors vectors = Vectors::AsWritten);

/// Runs LLVM's verifier. A complaint is an internal error.
void Verify(const llvm::Module& module);
std::string Print(const llvm::Module& module);

}  // namespace kdl::codegen
