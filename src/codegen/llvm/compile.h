#pragma once

#include <span>
#include <vector>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::codegen {

/// Kernels of a module at loop level, as one processor is to run them.
struct KernelSource {
  const ir::Module* module;
  std::vector<const ir::Function*> kernels;
  const Processor* processor;
};

/// Compiles the kernels of all sources, whose processors have the backend's architecture, into one object. Symbols are
/// hidden and hold the prefix and the processor, so objects of several modules link together.
Result<CompiledModule> CompileKernels(const Backend& backend, std::span<const KernelSource> sources,
                                      const CompileOptions& options);

}  // namespace kdl::codegen
