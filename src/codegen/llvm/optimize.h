#pragma once

#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// Runs LLVM's passes for the machine's optimization level: 0 none; 1 a few that clean up; 2 and 3
/// LLVM's own pipelines with the vectorizer. No pass may turn a loop into a call of a C function.
void Optimize(const Machine& machine, llvm::Module& module);

}  // namespace kdl::codegen
