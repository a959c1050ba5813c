#pragma once

#include <span>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// Splits what are coroutines, whose frames make the kernels' scratch larger, and runs LLVM's passes for the machine's
/// optimization level: 0 none, else a few that clean up. No pass may turn a loop into a call of a C function.
void Optimize(const Machine& machine, llvm::Module& module, std::span<KernelCode> kernels);

}  // namespace kdl::codegen
