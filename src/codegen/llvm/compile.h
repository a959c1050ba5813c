#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/llvm/backend.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::codegen {

/// What to make. LLVM's passes are those of the backend's optimization level.
struct CompileOptions {
  bool object = true;
  bool assembly = false;
  bool llvm_ir = false;  ///< after the passes
};

/// A row of kdl_variant.locations.
struct TrapLocation {
  Name file;
  Name text;
  uint32_t line = 0;
  uint32_t column = 0;
  int32_t code = 0;        ///< a trap code of abi.def
  int32_t dimension = -1;  ///< -1: none
  bool operator==(const TrapLocation&) const = default;
};

/// What the image says about one compiled kernel.
struct KernelCode {
  const ir::Function* kernel = nullptr;
  std::string entry;  ///< symbol of the kernel_fn
  std::string check;  ///< symbol of the check_fn; empty: none is needed
  int64_t scratch_bytes = 0;
  std::vector<TrapLocation> locations;
};

struct CompiledModule {
  std::string object;
  std::string assembly;
  std::string llvm_ir;
  std::vector<KernelCode> kernels;  ///< in the module's order
};

/// Compiles the kernels of `module`, which are at loop level; other functions are passed over.
/// Symbols are hidden and hold the module's name and the processor, so objects of several modules
/// and processors link together.
Result<CompiledModule> CompileKernels(const Backend& backend, const ir::Module& module,
                                      const CompileOptions& options);

}  // namespace kdl::codegen
