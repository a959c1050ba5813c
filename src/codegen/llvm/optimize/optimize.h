#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// Whether LLVM hoists loop-invariant code.
enum class Invariants : uint8_t { Hoist, Leave };
/// Whether LLVM also vectorizes code that has no vectors in KIR. The order of float operations does not
/// change.
enum class Vectors : uint8_t { AsWritten, Found };

/// Splits coroutines, whose frames add to the kernels' scratch, and runs LLVM's passes: none at optimization
/// level 0, a few that clean up at other levels. No pass may turn a loop into a call of a C function.
/// `machine` is null if a different version of LLVM continues the compilation.
void Optimize(const Machine* machine, int opt_level, llvm::Module& module,
              std::span<KernelCode> kernels, Invariants invariants = Invariants::Hoist,
              Vectors vectors = Vectors::AsWritten);

/// Runs LLVM's verifier. An error that it reports is an internal error of the compiler.
void Verify(const llvm::Module& module);
std::string Print(const llvm::Module& module);

}  // namespace kdl::codegen
