#pragma once

#include <span>
#include <vector>

#include "codegen/common/compiled.h"
#include "codegen/llvm/backend.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::codegen {

/// Kernels of a module that has been lowered to loops, and the processor to compile them for.
struct KernelSource {
  const ir::Module* module;
  std::vector<const ir::Function*> kernels;
  const Processor* processor;
};

/// Compiles the kernels of all sources into one object. The processors of all sources must have the
/// backend's architecture. Symbols are hidden and contain the prefix and the processor, so that objects of
/// several modules can be linked together.
Result<CompiledModule> CompileKernels(const Backend& backend, std::span<const KernelSource> sources,
                                      const CompileOptions& options);

}  // namespace kdl::codegen
