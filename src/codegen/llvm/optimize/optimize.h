#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// What becomes of what no turn of a loop changes.
enum class Invariants : uint8_t { Hoist, Leave };
/// Whether LLVM looks for vectors where KIR has none; floats keep their order.
enum class Vectors : uint8_t { AsWritten, Found };

/// Splits what are coroutines, whose frames make the kernels' scratch larger, and runs LLVM's passes for an optimization level: 0
/// none, else a few that clean up. No pass may turn a loop into a call of a C function. `machine`: null where another LLVM goes on.
void Optimize(const Machine* machine, int opt_level, llvm::Module& module,
              std::span<KernelCode> kernels, Invariants invariants = Invariants::Hoist,
              Vectors vectors = Vectors::AsWritten);

/// What LLVM's verifier complains about is ours.
void Verify(const llvm::Module& module);
std::string Print(const llvm::Module& module);

}  // namespace kdl::codegen
